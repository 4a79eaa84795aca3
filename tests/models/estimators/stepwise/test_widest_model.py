"""What the model with all terms decides: the variance of Cp, that of intervals, and which columns are called redundant."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import FitError
from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS

pytestmark = pytest.mark.slow

NAMES = list("abcdefgh")
FROM_BELOW: dict[str, Any] = {"upper": NAMES, "start": ()}
SEARCHES = {"backward": {}, "forward": {}, "both": {}, "both from below": FROM_BELOW}


@cache
def table(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((40, 8))
    return pd.DataFrame(columns, columns=NAMES), columns[:, :3] @ [1.0, 0.5, 0.3] + rng.standard_normal(40)


@cache
def rss(seed: int, terms: frozenset[str]) -> float:
    frame, y = table(seed)
    whole = np.column_stack([np.ones(len(y)), frame[sorted(terms)]])
    left = y - whole @ np.linalg.lstsq(whole, y, rcond=None)[0]
    return float(left @ left)


def by_refitting(seed: int, search: str) -> set[str]:
    """Mallows' Cp with the variance of the model with all columns, every neighbour fitted anew."""
    variance = rss(seed, frozenset(NAMES)) / (len(table(seed)[1]) - 9)
    model = frozenset(NAMES) if search in ("backward", "both") else frozenset()

    def value(terms: frozenset[str]) -> float:
        return rss(seed, terms) / variance + 2.0 * len(terms)

    while True:
        fewer = [model - {name} for name in model] if search != "forward" else []
        more = [model | {name} for name in NAMES if name not in model] if search != "backward" else []
        best = min([*fewer, *more], key=value)
        if value(best) >= value(model):
            return set(model)
        model = best


@pytest.mark.parametrize("search", SEARCHES)
def test_cp_takes_the_variance_of_the_model_with_all_terms(search: str) -> None:
    for seed in range(30):
        frame, y = table(seed)
        how = {"direction": search.split()[0], **SEARCHES[search]}
        assert set(StepwiseOLS(criterion="cp", report="none", **how).fit(frame, y).terms_) == by_refitting(seed, search), seed


def test_cp_needs_a_residual_degree_of_freedom_or_a_variance() -> None:
    frame, y = table(0)
    with pytest.raises(FitError, match="no residual degree of freedom") as caught:
        StepwiseOLS(criterion="cp", direction="forward").fit(frame[:9], y[:9])
    assert "scale=" in str(caught.value.hint)
    assert StepwiseOLS(criterion="cp", scale=1.0, direction="forward", report="none").fit(frame[:9], y[:9]).terms_


@pytest.mark.parametrize("noise", ["absolute", "relative"])
def test_intervals_of_one_model_do_not_depend_on_how_it_was_found(noise: str) -> None:
    frame, y = table(3)
    y = y - y.min() + 1.0
    fits = [
        StepwiseOLS(noise=noise, report="none", direction=name.split()[0], **how).fit(frame, y) for name, how in SEARCHES.items()
    ]
    assert len({frozenset(model.terms_) for model in fits}) == 1
    every = StepwiseOLS(noise=noise, report="none", max_steps=0).fit(frame, y)
    for model in fits:
        assert model.spread_.df == 31.0
        assert model.spread_.sigma == pytest.approx(every.report_.sigma, rel=1e-10)
        np.testing.assert_allclose(
            model.predict_interval(frame, kind="mean").upper, fits[0].predict_interval(frame, kind="mean").upper, rtol=1e-9
        )


def test_a_term_of_the_model_is_not_called_redundant() -> None:
    """From below the sum enters first, and one of its parts then adds nothing; from above R takes out the sum, which is last."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((50, 2)), columns=["a", "b"])
    frame["sum"] = frame["a"] + frame["b"]
    y = frame["sum"] + 0.1 * rng.standard_normal(50)
    from_below = StepwiseOLS(direction="forward", report="none").fit(frame, y)
    assert from_below.terms_ == ("sum",)
    assert from_below.aliased_ == {"b": "b = sum - a"}
    assert StepwiseOLS(report="none").fit(frame, y).aliased_ == {"sum": "sum = a + b"}
