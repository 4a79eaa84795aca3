"""Components with a known law: its terms are found, its costs come back, cache ends are seen, totals are kept."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import FitError
from mlperf.systems.sprint.components import BY_NAME
from mlperf.training.components.component_fit import fit_component, fit_components

pytestmark = pytest.mark.slow

SIZES = np.array([1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7])
CACHES = {"L2": 1 << 20, "L3": 1 << 25}


def rows_of(law, n_repeats: int = 4, noise: float = 0.01) -> pd.DataFrame:
    """Vector operations of seven sizes, repeated, with noise relative to the time."""
    rng = np.random.default_rng(7)
    n_params = np.repeat(SIZES, n_repeats)
    time_s = law(n_params) * (1.0 + noise * rng.standard_normal(n_params.size))
    groups = [f"net{number}" for number in np.repeat(np.arange(SIZES.size), n_repeats)]
    return pd.DataFrame({"n_params": n_params, "n_gpus_per_node": 4, "group": groups, "time_s": time_s})


def test_a_constant_and_a_slope_come_back() -> None:
    rows = rows_of(lambda n: 2e-4 + 3e-9 * n, noise=1e-6)
    fit = fit_component(BY_NAME["compute_update_value"], rows, "relative")
    new = pd.DataFrame({"n_params": [5e4, 2e6], "n_gpus_per_node": 4})
    assert fit.predict(new) == pytest.approx([2e-4 + 3e-9 * 5e4, 2e-4 + 3e-9 * 2e6], rel=1e-5)
    assert fit.paper.predict(new) == pytest.approx(fit.selected.predict(new), rel=1e-5)
    assert (fit.name, fit.n_rows) == ("compute_update_value", len(rows))


def test_no_factor_hides_behind_the_coefficients() -> None:
    """What is printed predicts: the total of skewed times is not forced back by a factor that nobody sees."""
    skewed = rows_of(lambda n: 2e-4 + 3e-9 * n, noise=0.0)
    skewed["time_s"] *= np.random.default_rng(1).gamma(4.0, 0.25, len(skewed))
    for noise in ("relative", "absolute"):
        selected = fit_component(BY_NAME["compute_update_value"], skewed, noise).selected
        assert selected.total_scale == 1.0
        report = selected.estimator.report_
        columns = {"(Intercept)": np.ones(len(skewed)), "n_params": skewed["n_params"].to_numpy()}
        by_hand = sum(value * columns[name] for name, value in zip(report.names, report.coef, strict=True))
        assert selected.predict(skewed) == pytest.approx(by_hand, rel=1e-12)


def test_a_cost_that_rises_where_a_cache_ends_is_found() -> None:
    """Twice the time per parameter beyond L3 / 16: a straight line errs by tens of per cent, the hinge does not."""
    knot = CACHES["L3"] // 16
    rows = rows_of(lambda n: 1e-5 + 2e-9 * n + 4e-9 * np.maximum(n - knot, 0))
    fit = fit_components({"compute_update_value": rows}, "relative", CACHES)["compute_update_value"]
    new = pd.DataFrame({"n_params": [1.5e6, 5e6], "n_gpus_per_node": 4})
    truth = 1e-5 + 2e-9 * new["n_params"] + 4e-9 * np.maximum(new["n_params"] - knot, 0)
    assert fit.predict(new) == pytest.approx(truth, rel=0.05)
    assert np.abs(fit.paper.predict(new) / truth - 1.0).max() > 0.1


def test_components_of_images_know_no_caches() -> None:
    rows = pd.DataFrame({"subbatch_size": [1.0, 2.0, 4.0, 8.0] * 3, "group": list("abcdabcdabcd")})
    rows["time_s"] = 1e-3 + 2e-3 * rows["subbatch_size"]
    fits = fit_components({"deform_image": rows}, "absolute", CACHES)
    assert fits["deform_image"].predict(pd.DataFrame({"subbatch_size": [3.0]})) == pytest.approx([7e-3])


def test_errors_are_those_of_groups_that_were_left_out() -> None:
    rows = rows_of(lambda n: 2e-4 + 3e-9 * n)
    fit = fit_component(BY_NAME["compute_update_value"], rows, "relative")
    assert fit.selected_errors is not None
    assert 0.002 < fit.selected_errors.errors.mape < 0.05
    assert 0.0 < fit.noise_floor < 0.05
    quick = fit_component(BY_NAME["compute_update_value"], rows, "relative", left_out=False)
    assert quick.selected_errors is None
    assert quick.predict(rows) == pytest.approx(fit.predict(rows), rel=1e-12)


def test_two_groups_leave_none_to_judge_by() -> None:
    rows = rows_of(lambda n: 2e-4 + 3e-9 * n)
    few = rows[rows["group"].isin(["net0", "net5"])]
    assert fit_component(BY_NAME["compute_update_value"], few, "relative").selected_errors is None


def test_sizes_beyond_the_measured_ones_are_flagged() -> None:
    fit = fit_component(BY_NAME["compute_update_value"], rows_of(lambda n: 2e-4 + 3e-9 * n), "relative")
    assert fit.in_domain(pd.DataFrame({"n_params": [1e5, 1e9], "n_gpus_per_node": 4})).tolist() == [True, False]


def test_a_single_row_is_refused_with_what_to_measure() -> None:
    row = pd.DataFrame({"n_params": [1e6], "group": ["a"], "time_s": [1e-3]})
    with pytest.raises(FitError, match="component 'update_weights': got 1 row, expected 2 or more") as caught:
        fit_component(BY_NAME["update_weights"], row, "relative")
    assert "Measure further settings" in str(caught.value)


def test_rows_as_few_as_terms_are_refused_with_what_to_measure() -> None:
    rows = pd.DataFrame({"params_share": [1e6, 2e6], "group": ["a", "b"], "time_s": [1e-3, 2e-3]})
    with pytest.raises(FitError, match="component 'add_momentum', 2 rows: ") as caught:
        fit_component(BY_NAME["add_momentum"], rows, "relative")
    assert "Measure further settings" in str(caught.value)


def test_rows_without_a_column_of_any_term_are_refused() -> None:
    rows = pd.DataFrame({"other": [1.0, 2.0], "group": ["a", "b"], "time_s": [1.0, 2.0]})
    with pytest.raises(FitError, match="component 'compute_update_value': got columns other, group, time_s"):
        fit_component(BY_NAME["compute_update_value"], rows, "relative")


def test_rows_too_few_for_left_out_errors_are_told_with_their_component() -> None:
    """Three settings are enough for the fit; two of them are not for one fold of it."""
    rows = rows_of(lambda n: 2e-4 + 3e-9 * n, n_repeats=1).iloc[:3]
    with pytest.raises(FitError) as caught:
        fit_component(BY_NAME["compute_update_value"], rows, "relative", left_out=True)
    assert str(caught.value.place).startswith("component 'compute_update_value', 3 rows, left out: fold")
    assert str(caught.value.hint).startswith("Measure further settings")
