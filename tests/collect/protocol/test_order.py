"""Drift and order diagnostics on planted campaigns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.collect.protocol.order import check_order, drift
from mlperf.core.errors import DataError

KEY = ["cnn", "subbatch_size"]


def planted(interleaved: bool, slowdown: float = 0.0, n_rounds: int = 10) -> pd.DataFrame:
    """Ten networks at four sizes; the machine slows down linearly by ``slowdown`` in all; noise of 1 %."""
    rng = np.random.default_rng(0)
    pairs = [(f"cnn{number}", size, 1) for number in range(10) for size in (1, 2, 4, 8)]
    rows = [(*pair[:2], number) for number in range(n_rounds) for pair in pairs]
    frame = pd.DataFrame(rows, columns=["cnn", "subbatch_size", "round"])
    frame = (
        frame.sample(frac=1, random_state=1).sort_values("round", kind="stable")
        if interleaved
        else frame.sort_values(["cnn", "round"])
    )
    frame["sequence"] = range(len(frame))
    speed = 1 + slowdown * frame["sequence"] / len(frame)
    frame["reference_s"] = 1e-3 * speed * rng.normal(1, 0.01, len(frame))
    frame["cpu_s"] = frame["subbatch_size"] * speed * rng.normal(1, 0.01, len(frame))
    return frame


def test_networks_measured_one_after_another_are_an_error() -> None:
    with pytest.raises(DataError, match="campaign order is confounded with time"):
        check_order(planted(interleaved=False), "steps.csv")


def test_a_fair_order_passes_and_explains_nothing() -> None:
    frame = planted(interleaved=True)
    check_order(frame, "steps.csv")
    assert abs(drift(frame, KEY).order_share) < 0.1


def test_drift_shows_in_reference_rounds_and_time() -> None:
    found = drift(planted(interleaved=True, slowdown=0.3), KEY)
    assert found.reference_correlation > 0.9
    assert found.round_share > 0.9
    assert found.time_share > 0.9


def test_a_steady_machine_shows_no_drift() -> None:
    found = drift(planted(interleaved=True), KEY)
    assert abs(found.reference_correlation) < 4 / np.sqrt(400)
    assert found.round_share < 0.1
    assert found.order_share < 0.5


def test_too_few_visits_tell_nothing() -> None:
    frame = planted(interleaved=False, n_rounds=1).query("subbatch_size == 1")
    assert np.isnan(drift(frame, KEY).order_share)
