"""States, lower bounds and shortest paths against trying all."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from partition_networks import random_machine, random_network

from mlperf.planning.partition import programme
from mlperf.planning.partition.programme import cheapest_path, layer_states, least_costs
from mlperf.systems.model_parallel.epoch import sample_times

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", range(4))
def test_the_cheapest_path_is_the_cheapest_plan(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table, machine = random_network(rng, 3), random_machine(rng)
    states = [layer_states(table, layer, 5, 10, machine) for layer in range(3)]
    plans = [[(int(p), int(r)) for p, r in zip(each.stripes, each.copies, strict=True)] for each in states]
    taus = {
        plan: sample_times(table, machine, [p for p, _ in plan], [r for _, r in plan], 10).sample_s
        for plan in itertools.product(*plans)
    }
    least = least_costs(states, 5)
    for n in (1, 3, 5):
        best = min(tau for plan, tau in taus.items() if max(p * r for p, r in plan) <= n)
        path = cheapest_path(table, states, n, machine, np.inf)
        assert path is not None
        assert path.sample_s == pytest.approx(best, rel=1e-12)
        assert least[n - 1] <= best * (1 + 1e-12)
        within = cheapest_path(table, states, n, machine, best * (1 + 1e-9))
        assert within is not None
        assert within.sample_s == pytest.approx(best, rel=1e-12)
        assert cheapest_path(table, states, n, machine, best * 0.999) is None


def test_states_are_all_that_rows_workers_and_memory_allow() -> None:
    rng = np.random.default_rng(1)
    table, machine = random_network(rng, 3), random_machine(rng)
    states = layer_states(table, 2, 6, 10, machine)
    pairs = {(p, r) for p in range(1, 7) for r in range(1, 7) if p * r <= 6 and p <= table.rows[2]}
    assert set(zip(states.stripes.tolist(), states.copies.tolist(), strict=True)) == pairs
    assert (np.diff(states.used) >= 0).all()
    middle = float(np.median(states.segment_bytes))
    assert layer_states(table, 2, 6, 10, machine, middle).segment_bytes.max() <= middle


def test_too_many_states_give_a_plan_with_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is below the exact optimum and the plan not."""
    rng = np.random.default_rng(4)
    table, machine = random_network(rng, 3), random_machine(rng)
    states = [layer_states(table, layer, 24, 10, machine) for layer in range(3)]
    exact = cheapest_path(table, states, 24, machine, np.inf)
    monkeypatch.setattr(programme, "MANY", 1)
    again = cheapest_path(table, states, 24, machine, np.inf)
    monkeypatch.setattr(programme, "HARD", 0)
    coarse = cheapest_path(table, states, 24, machine, np.inf)
    assert exact is not None
    assert again is not None
    assert coarse is not None
    assert exact.bound_s == exact.sample_s == pytest.approx(again.sample_s, rel=1e-12)
    assert coarse.bound_s <= exact.sample_s * (1 + 1e-12)
    assert coarse.sample_s >= exact.sample_s * (1 - 1e-12)
