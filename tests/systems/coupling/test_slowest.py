"""The slowest of N gamma times against quadrature, Monte Carlo and the normal limit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammainc

from mlperf.core.errors import DataError
from mlperf.systems.coupling import slowest
from mlperf.systems.coupling.barrier import straggler_excess
from mlperf.systems.coupling.slowest import larger_of, slowest_factor, slowest_spread


@pytest.mark.parametrize("n", [1, 2, 7, 100, 3000])
@pytest.mark.parametrize("variation", [0.03, 0.3, 0.77, 1.0, 2.0])
def test_mean_of_the_largest_is_the_integral(n: int, variation: float) -> None:
    shape = variation**-2
    ends = [0.0, max(0.0, 1 - 6 * variation), 1.0, 1 + 4 * variation, 1 + 12 * variation, 1 + 60 * variation * (1 + variation)]
    exact = sum(quad(lambda x: 1.0 - gammainc(shape, shape * x) ** n, low, high, limit=400)[0] for low, high in pairwise(ends))
    assert float(slowest_factor(n, variation)) == pytest.approx(exact, rel=1e-3)


def test_exponential_times_are_the_harmonic_number() -> None:
    assert float(slowest_factor(10, 1.0)) == pytest.approx(sum(1 / k for k in range(1, 11)), rel=1e-4)
    assert float(slowest_spread(10, 1.0)) ** 2 == pytest.approx(sum(1 / k**2 for k in range(1, 11)), rel=1e-3)


def test_little_variation_is_normal() -> None:
    assert float(slowest_factor(64, 0.01)) == pytest.approx(1 + float(straggler_excess(np.array(0.01), 64)), rel=3e-4)
    assert float(slowest_factor(64, 0.0)) == 1.0
    assert float(slowest_factor(1, 0.5)) == pytest.approx(1.0, abs=1e-4)


def test_larger_of_two_against_draws() -> None:
    rng = np.random.default_rng(8)
    first, second = rng.normal(1.0, 0.2, 400_000), rng.normal(1.1, 0.1, 400_000)
    drawn = float(np.maximum(first, second).mean())
    assert float(larger_of(np.array(1.0), np.array(0.2), np.array(1.1), np.array(0.1))) == pytest.approx(drawn, abs=2e-3)
    zero = np.zeros(())
    assert float(larger_of(np.array(1.0), zero, np.array(1.1), zero)) == 1.1


def test_outside_the_table() -> None:
    with pytest.raises(DataError, match="got 3 for the variation"):
        slowest_factor(4, 3.0)
    with pytest.raises(DataError, match="got 0 for the times"):
        slowest_factor(0, 0.3)


def test_the_nodes_of_the_quadrature_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """They took 4 s of the 4.2 s that the table took."""
    calls = []
    found = np.polynomial.legendre.leggauss
    monkeypatch.setattr(np.polynomial.legendre, "leggauss", lambda n: calls.append(n) or found(n))
    for made_once in (slowest._gauss, slowest._splines):
        made_once.cache_clear()
    slowest_factor(3, 0.3)
    assert len(calls) == 1
