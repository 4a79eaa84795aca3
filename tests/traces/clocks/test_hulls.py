"""The hull keeps every constraint that some straight line touches first."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.traces.clocks.constraints import constraints
from mlperf.traces.clocks.hulls import binding


@pytest.mark.parametrize("seed", range(50))
def test_highest_line_of_every_slope_is_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_found = int(rng.integers(1, 60))
    x, bound = rng.integers(0, 50, n_found), rng.integers(-20, 80, n_found)
    source = rng.integers(0, 2, n_found)
    found = constraints(source, x, 1 - source, x + bound)
    kept = found.take(binding(found, 2))
    for clock in (0, 1):
        some, all_ = kept.earlier == clock, found.earlier == clock
        for slope in rng.normal(0, 3, 20):
            if all_.any():
                highest = (found.bound_ns - slope * found.earlier_ns)[all_].min()
                assert (kept.bound_ns - slope * kept.earlier_ns)[some].min() == pytest.approx(highest, abs=1e-9)
    assert len(kept) <= len(found)


def test_points_on_a_line_leave_their_ends() -> None:
    found = constraints(np.zeros(5), np.arange(5), np.ones(5), np.arange(5) * 3)
    assert found.take(binding(found, 2)).earlier_ns.tolist() == [0, 4]
