"""The report's own figures: middles, widths, what is unbounded, whether the trace may stay as it is."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.traces.clocks.report import ClockReport

INF = np.inf


def report(low: list[list[float]], high: list[list[float]], **changes: object) -> ClockReport:
    n_clocks = len(low)
    told: dict[str, object] = {
        "clocks": tuple(f"host {clock}" for clock in range(n_clocks)),
        "reference": 0,
        "most_drift_ppm": 200.0,
        "moments_ns": np.array([[0, 50, 100]] * n_clocks),
        "rough_ns": np.array([0, 1_000, 0][:n_clocks]),
        "low_ns": np.array(low),
        "high_ns": np.array(high),
        "drift_low_ppm": np.zeros(n_clocks),
        "drift_high_ppm": np.zeros(n_clocks),
        "pair_uncertainty_ns": np.zeros((n_clocks, n_clocks)),
        "n_constraints": {"message": 4},
    }
    return ClockReport(**{**told, **changes})  # type: ignore[arg-type]


def test_middles_and_widths() -> None:
    one = report([[0, 0, 0], [-30, -10, -20]], [[0, 0, 0], [50, 30, 20]])
    assert one.offset_ns.tolist() == [0, 1_010]
    assert one.uncertainty_ns.tolist() == [0, 40]
    assert one.is_bounded.all()
    assert not one.notes
    assert not one.as_recorded_fits
    frame = one.to_frame().iloc[1]
    assert (frame["offset_us"], frame["lower_us"], frame["upper_us"]) == pytest.approx((1.01, 0.99, 1.03))


def test_a_missing_side_is_no_offset() -> None:
    one = report([[0, 0, 0], [-INF] * 3, [-INF] * 3], [[0, 0, 0], [5, 5, 5], [INF] * 3])
    assert np.isnan(one.offset_ns[1:]).all()
    assert one.is_bounded.tolist() == [True, False, False]
    assert "host 1: offset unbounded below: messages go in one direction only" in one.notes[0]
    assert "host 2: offset unbounded below and above: nothing connects it" in one.notes[1]


def test_zero_inside_all_bounds_fits_as_recorded() -> None:
    inside = report([[0, 0, 0], [-1_100] * 3], [[0, 0, 0], [-900] * 3])
    assert inside.as_recorded_fits
    assert not report([[0, 0, 0], [-1_100] * 3], [[0, 0, 0], [-900] * 3], contradiction=("x",)).as_recorded_fits
