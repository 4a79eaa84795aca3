"""Lack of fit: a published example, statsmodels' comparison of nested models, and where there is nothing to test."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols, wls
from statsmodels.stats.anova import anova_lm

from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS
from mlperf.models.storage.store import model_from_json, model_to_json

pytestmark = pytest.mark.slow

CORROSION = pd.DataFrame(
    {
        "iron": [0.01, 0.48, 0.71, 0.95, 1.19, 0.01, 0.48, 1.44, 0.71, 1.96, 0.01, 1.44, 1.96],
        "loss": [127.6, 124.0, 110.8, 103.9, 101.5, 130.1, 122.0, 92.3, 113.1, 83.7, 128.0, 91.4, 86.2],
    }
)
"""Weight loss of copper-nickel bars by iron content (Draper and Smith 1998; R's faraway::corrosion)."""


def test_the_published_example() -> None:
    """anova(lm(loss ~ Fe), lm(loss ~ factor(Fe))): RSS 102.850 and 11.782, F 9.2756 on 5 and 6, p .008623 (Faraway 2005)."""
    found = StepwiseOLS().fit(CORROSION[["iron"]], CORROSION["loss"]).report_.lack_of_fit
    assert found.n_configurations == 7
    assert (found.df_lack_of_fit, found.df_pure_error) == (5, 6)
    assert found.ss_pure_error == pytest.approx(11.782, abs=5e-4)
    assert found.ss_lack_of_fit == pytest.approx(91.069, abs=5e-4)
    assert found.f_value == pytest.approx(9.2756, abs=5e-5)
    assert found.f_p_value == pytest.approx(0.008623, abs=5e-7)


def repeats(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    cells = pd.DataFrame({"a": np.repeat([1.0, 2.0, 4.0], 4), "b": np.tile([1.0, 3.0, 5.0, 9.0], 3)})
    table = cells.loc[np.repeat(np.arange(12), rng.integers(1, 6, 12))].reset_index(drop=True)
    return table.assign(y=(3.0 + 2.0 * table["a"] + table["b"] ** 1.5) * np.exp(0.1 * rng.standard_normal(len(table))))


@pytest.mark.parametrize("noise", ["absolute", "relative"])
def test_it_is_the_comparison_with_a_mean_for_every_configuration(noise: str) -> None:
    """Also for a model that the selection made smaller: rows repeat in what was offered, not only in what was kept."""
    table = repeats()
    weights = np.ones(len(table)) if noise == "absolute" else 1.0 / table["y"] ** 2
    for kept, formula in ((["a", "b"], "y ~ a + b"), (["a"], "y ~ a")):
        model = StepwiseOLS(lower=kept, k=1e6, noise=noise, report="none").fit(table[["a", "b"]], table["y"])
        found = model.report_.lack_of_fit
        assert model.terms_ == tuple(kept)
        nested = anova_lm(wls(formula, table, weights=weights).fit(), wls("y ~ C(a) * C(b)", table, weights=weights).fit())
        assert found.f_value == pytest.approx(nested["F"].iloc[1], rel=1e-8)
        assert found.f_p_value == pytest.approx(nested["Pr(>F)"].iloc[1], rel=1e-7)
        assert found.ss_pure_error == pytest.approx(nested["ssr"].iloc[1], rel=1e-9)
        assert found.ss_lack_of_fit + found.ss_pure_error == pytest.approx(model.report_.rss, rel=1e-12)


def test_true_and_wrong_forms_differ() -> None:
    """Over 300 tables of a true form p is uniform: 5 % below .05 within four standard errors; a wrong form is found every time."""
    rng = np.random.default_rng(1)
    x = np.repeat(np.arange(1.0, 9.0), 4)
    errors = rng.standard_normal((300, len(x)))
    frame = pd.DataFrame({"x": x})
    fit = StepwiseOLS(lower=["x"], report="none")
    true = [fit.fit(frame, 3.0 + 2.0 * x + error).report_.lack_of_fit.f_p_value for error in errors]
    assert np.mean(np.array(true) < 0.05) == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 300))
    wrong = [fit.fit(frame, 3.0 + x**2 + error).report_.lack_of_fit.f_p_value for error in errors[:20]]
    assert max(wrong) < 1e-4


def test_nothing_to_test_is_none() -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"x": rng.uniform(1.0, 9.0, 20)})
    assert StepwiseOLS(report="none").fit(frame, rng.uniform(1.0, 2.0, 20)).report_.lack_of_fit is None
    table = repeats()
    cells = table.assign(cell=(table["a"] + 10 * table["b"]).astype(str))
    saturated = StepwiseOLS(terms=["cell"], lower=["cell"], report="none").fit(cells[["cell"]], cells["y"])
    assert saturated.report_.lack_of_fit is None


def test_repeats_without_spread_leave_no_doubt_about_a_wrong_form() -> None:
    table = pd.DataFrame({"x": np.repeat([1.0, 2.0, 3.0, 4.0], 2)})
    found = StepwiseOLS(lower=["x"], report="none").fit(table, table["x"] ** 2).report_.lack_of_fit
    assert found.f_value > 1e20
    assert found.f_p_value < 1e-20


def test_it_is_shown_and_stored() -> None:
    table = repeats()
    model = StepwiseOLS(report="none").fit(table[["a", "b"]], table["y"])
    again = model_from_json(model_to_json(model)).report_
    assert again.lack_of_fit == model.report_.lack_of_fit
    assert "lack of fit: F" in again.text()
    assert anova_lm(ols("y ~ a + b", table).fit(), ols("y ~ C(a) * C(b)", table).fit())["F"].iloc[1] == pytest.approx(
        again.lack_of_fit.f_value
    )
