"""A contradiction is always a circle of constraints whose bounds add up to less than nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from mlperf.traces.clocks.constraints import constraints
from mlperf.traces.clocks.fixed import FREE, fixed_bounds


@pytest.mark.parametrize("seed", range(200))
def test_feasible_or_a_negative_circle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_clocks, n_found = int(rng.integers(2, 7)), int(rng.integers(2, 25))
    pairs = rng.integers(0, n_clocks, (2, n_found))
    found = constraints(pairs[0], 0, pairs[1], rng.integers(-40, 100, n_found))
    bounds = fixed_bounds(found, n_clocks)
    rows = np.zeros((len(found), n_clocks))
    at = np.arange(len(found))
    rows[at, found.earlier], rows[at, found.later] = 1.0, -1.0
    solved = linprog(np.zeros(n_clocks), A_ub=rows, b_ub=found.bound_ns, bounds=[(None, None)] * n_clocks, method="highs")
    assert (len(bounds.cycle) == 0) == (solved.status == 0)
    if len(bounds.cycle):
        circle = found.take(bounds.cycle)
        assert circle.bound_ns.sum() < 0
        assert (circle.later == np.roll(circle.earlier, -1)).all()
        assert len(set(circle.earlier.tolist())) == len(circle)


def test_clocks_without_a_connection_have_no_bound() -> None:
    bounds = fixed_bounds(constraints([0, 1], [0, 0], [1, 0], [5, 7]), 3)
    assert bounds.most_ns[:2, :2].tolist() == [[0, 5], [7, 0]]
    assert (bounds.most_ns[2, :2] == FREE).all()
