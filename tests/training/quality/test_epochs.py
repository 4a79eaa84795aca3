"""Epochs to a target by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.training.quality import epochs_to_target

EPOCH = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("accuracy", "expected"),
    [([0.5, 0.8, 1.0], 2.5), ([0.5, 0.95, 0.8], 1.0 + 0.4 / 0.45), ([0.95, 0.5, 0.5], 0.9 / 0.95), ([0.9, 0.5, 0.5], 1.0)],
)
def test_the_first_crossing_is_interpolated(accuracy: list[float], expected: float) -> None:
    assert epochs_to_target(EPOCH, np.array(accuracy), 0.9) == pytest.approx(expected)


def test_a_run_that_ends_before_is_censored() -> None:
    assert np.isnan(epochs_to_target(EPOCH, np.array([0.1, 0.2, 0.89]), 0.9))
