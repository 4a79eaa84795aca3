"""Closed queue: the birth-death solution of exponential times, and both asymptotes."""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest

from mlperf.core.errors import UsageError
from mlperf.systems.coupling.queue import closed_queue


@pytest.mark.parametrize("n", [1, 2, 8, 32])
def test_it_is_the_birth_death_solution(n: int) -> None:
    think, service = np.array([0.5, 2.0, 10.0]), 0.3
    empty = 1.0 / sum(factorial(n) / factorial(n - k) * (service / think) ** k for k in range(n + 1))
    assert closed_queue(think, np.array(service), n) == pytest.approx((1.0 - empty) / service, rel=1e-10)


def test_asymptotes_bound_it() -> None:
    rate = closed_queue(np.array([1.0, 1.0, 100.0]), np.array([1.0, 0.001, 0.001]), 10)
    assert (rate <= np.minimum(10 / np.array([2.0, 1.001, 100.001]), [1.0, 1000.0, 1000.0]) * (1 + 1e-12)).all()
    assert rate[2] == pytest.approx(10 / 100.001, rel=1e-4)
    with pytest.raises(UsageError, match="0 customers"):
        closed_queue(np.ones(1), np.ones(1), 0)
