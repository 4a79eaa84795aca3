"""What predicts: inside by one method, beyond by another; intervals that hold what they promise, also of a wrong model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.training.table.table_fit import TableFit

pytestmark = pytest.mark.slow


def law(rng: np.random.Generator, n_rows: int, top: float = 9.0) -> pd.DataFrame:
    m, n, k = 2.0 ** rng.uniform(3, top, (3, n_rows))
    return pd.DataFrame({"m": m, "n": n, "k": k, "time_s": (1e-5 + 2e-11 * m * n * k) * np.exp(0.05 * rng.standard_normal(n_rows))})


@pytest.mark.parametrize("terms", [["m*n*k"], ["m", "n", "k"]], ids=["true", "wrong"])
def test_intervals_hold_also_where_the_model_is_wrong(terms: list[str]) -> None:
    """An interval from the normal theory of a wrong model held 33 % of the rows it promised 95 % of."""
    rng = np.random.default_rng(0)
    model = mlperf.train(law(rng, 300), target="time_s", terms=terms, method="ols")
    fresh = law(rng, 1000)
    fresh = fresh[model.in_domain(fresh)]
    run, mean = (model.predict_interval(fresh, kind) for kind in ("run", "mean"))
    held = np.mean((run.lower <= fresh.time_s) & (fresh.time_s <= run.upper))
    assert 0.92 <= held <= 0.985
    assert (run.lower <= mean.lower).all()
    assert (mean.upper <= run.upper).all()


def test_what_is_printed_is_what_predicts() -> None:
    rng = np.random.default_rng(1)
    rows = law(rng, 200)
    model = mlperf.train(rows, target="time_s", terms=["m", "n", "k"], method="ols")
    table = model.to_frame()
    by_hand = table["coef"].iloc[0] + rows[["m", "n", "k"]] @ table["coef"].iloc[1:].to_numpy()
    inside = by_hand.to_numpy() > 0.25 * rows.time_s.min()
    np.testing.assert_allclose(model.predict(rows)[inside], by_hand[inside], rtol=1e-12)


def test_beyond_the_sizes_another_method_answers_and_the_row_is_flagged() -> None:
    rng = np.random.default_rng(2)
    rows = law(rng, 250).assign(time_s=lambda each: each.time_s * (1.0 + 0.5 * np.sin(np.log2(each.m) * 3.0)))
    model = mlperf.train(rows, target="time_s", terms=["m*n*k", "m", "n", "k"], n_folds=2)
    assert isinstance(model.fitted, TableFit)
    far = law(rng, 200, 12.0)
    far = far[(far[["m", "n", "k"]] > 2.0**10).any(axis=1)]
    assert not model.in_domain(far).any()
    assert np.median(np.abs(np.log(model.predict(far) / far.time_s))) < 0.5


def test_totals_are_kept_only_where_asked_and_told() -> None:
    rng = np.random.default_rng(3)
    rows = law(rng, 300)
    rows["time_s"] *= np.exp(0.6 * rng.standard_normal(300))
    free, kept = (mlperf.train(rows, target="time_s", terms=["m*n*k"], method="log", totals=each) for each in ("free", "keep"))
    assert free.fitted.total_scale == 1.0
    assert 0.8 <= kept.fitted.total_scale <= 1.25
    ratio = kept.predict(rows) / free.predict(rows)
    np.testing.assert_allclose(ratio, kept.fitted.total_scale, rtol=1e-12)
    assert (kept.fitted.total_scale == 1.0) == (not any("multiplied by" in note for note in kept.notes))
