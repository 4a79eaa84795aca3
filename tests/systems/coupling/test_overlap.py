"""Exposed communication: exact limits, and a step-by-step stream."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.systems.coupling.overlap import exposed


def test_limits() -> None:
    ready = np.array([1.0, 2.0, 4.0])
    assert exposed(ready, np.zeros(3)) == 4.0
    assert exposed(np.array([3.0]), np.array([0.5])) == 3.5
    assert exposed(np.zeros(3), np.array([1.0, 2.0, 3.0])) == 6.0


def test_it_is_the_longest_of_all_tails() -> None:
    """The stream's end is the largest readiness plus everything sent from there on."""
    rng = np.random.default_rng(0)
    ready, comm = np.sort(rng.uniform(size=(6, 50)), axis=0), rng.uniform(0.0, 0.4, (6, 50))
    tails = [ready[k] + comm[k:].sum(axis=0) for k in range(6)]
    assert exposed(ready, comm) == pytest.approx(np.max(tails, axis=0))
