"""Longest paths without a node against graphs from which it was taken."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.traces.graph.dag import NEVER, backward, build_dag, forward
from mlperf.traces.replay.avoiding import longest_avoiding


@pytest.mark.parametrize("seed", range(80))
def test_without_each_node(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_nodes = int(rng.integers(2, 30))
    tails = [
        np.append(rng.integers(0, head, rng.integers(1, 4)), head - 1 if rng.random() < 0.5 else 0) for head in range(1, n_nodes)
    ]
    tail, head = np.concatenate(tails), np.repeat(np.arange(1, n_nodes), [len(each) for each in tails])
    dag = build_dag(n_nodes, tail, head, rng.integers(-10, 100, len(tail)))
    ends = rng.random(n_nodes) < 0.4
    ends[dag.place[rng.integers(1, n_nodes)]] = True
    fixed = np.sort(rng.choice(n_nodes, 2)) if seed % 2 and n_nodes > 4 else np.zeros(0, dtype=np.int64)
    fixed = np.unique(fixed[fixed > 0])
    weight = dag.weight_ns.copy()
    weight[np.isin(dag.head, fixed)] = NEVER
    times = (fixed, rng.integers(0, 200, len(fixed)))
    time, rest = forward(dag, weight, times), backward(dag, weight, ends)
    found = longest_avoiding(dag, weight, time, rest, ends, fixed)
    for node in range(n_nodes):
        gone = (np.append(fixed, node), np.append(times[1], NEVER // 3))
        without = int(forward(dag, weight, gone)[ends].max())
        if without > NEVER // 4:
            assert found[node] == without
        else:
            assert found[node] < NEVER // 4
