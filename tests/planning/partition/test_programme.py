"""The cheapest plan of one replica: the least of all plans, and what a limit leaves of it."""

from __future__ import annotations

import numpy as np
import pytest
from partition_examples import all_taus, random_instance

from mlperf.planning.partition.programme import cheapest_path, layer_states, least_costs


@pytest.mark.parametrize("seed", range(12))
def test_the_least_of_all_plans_on_each_number_of_workers(seed: int) -> None:
    table, constants, machines, batch, _ = random_instance(np.random.default_rng(seed))
    states = [layer_states(table, layer, machines, batch, constants) for layer in range(table.n_layers)]
    bounds = least_costs(states, machines)
    taus = []
    for n_workers in range(1, machines + 1):
        path = cheapest_path(table, states, n_workers, constants, np.inf)
        assert path is not None
        assert path.sample_s == pytest.approx(float(all_taus(table, constants, n_workers, batch).min()), rel=1e-12)
        assert bounds[n_workers - 1] <= path.sample_s * (1.0 + 1e-12)
        taus.append(path.sample_s)
    assert (np.diff(taus) <= 1e-15).all()


@pytest.mark.parametrize("seed", range(12))
def test_a_limit_drops_nothing_that_is_below_it(seed: int) -> None:
    table, constants, machines, batch, _ = random_instance(np.random.default_rng(seed))
    states = [layer_states(table, layer, machines, batch, constants) for layer in range(table.n_layers)]
    free = cheapest_path(table, states, machines, constants, np.inf)
    assert free is not None
    tight = cheapest_path(table, states, machines, constants, free.sample_s)
    assert tight is not None
    assert tight.sample_s == free.sample_s
    assert max(tight.states_kept) <= max(free.states_kept)
    # Below the optimum nothing is promised, but what comes out is no better than it.
    none = cheapest_path(table, states, machines, constants, 0.99 * free.sample_s)
    assert none is None or none.sample_s >= free.sample_s * (1.0 - 1e-12)


def test_states_are_those_that_the_workers_hold() -> None:
    table, constants, _, batch, _ = random_instance(np.random.default_rng(3))
    states = layer_states(table, 0, 12, batch, constants)
    rows = int(table.rows[0])
    expected = {(p, r) for p in range(1, 13) for r in range(1, 13) if p * r <= 12 and p <= rows}
    assert set(zip(states.stripes.tolist(), states.copies.tolist(), strict=True)) == expected
    assert (np.diff(states.used) >= 0).all()
