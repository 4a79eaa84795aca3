"""Longest paths against repeated relaxation of every edge, which knows no order."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.traces.graph.dag import NEVER, Cycle, backward, build_dag, forward


def relaxed(n_nodes: int, tail: np.ndarray, head: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """When each node happens, by relaxing all edges until nothing changes; nodes without an edge into them at 0."""
    time = np.where(np.bincount(head, minlength=n_nodes) > 0, np.iinfo(np.int64).min // 2, 0)
    for _ in range(n_nodes):
        before = time.copy()
        np.maximum.at(time, head, time[tail] + weight)
        if np.array_equal(before, time):
            return time
    raise AssertionError("the oracle was given a circle")


def random_graph(seed: int) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """Edges that run forwards under a hidden shuffling of the nodes, some more than once, some with negative times."""
    rng = np.random.default_rng(seed)
    n_nodes = int(rng.integers(1, 40))
    pairs = rng.integers(0, n_nodes, (int(rng.integers(0, 120)), 2))
    pairs = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1)
    hidden = rng.permutation(n_nodes)
    return n_nodes, hidden[pairs[:, 0]], hidden[pairs[:, 1]], rng.integers(-20, 100, len(pairs))


@pytest.mark.parametrize("seed", range(60))
def test_times_are_those_of_relaxation(seed: int) -> None:
    n_nodes, tail, head, weight = random_graph(seed)
    dag = build_dag(n_nodes, tail, head, weight)
    assert np.all(dag.tail < dag.head)
    assert np.array_equal(dag.place[dag.node], np.arange(n_nodes))
    assert np.array_equal(forward(dag)[dag.place], relaxed(n_nodes, tail, head, weight))
    assert np.array_equal(dag.weight_ns, weight[dag.edge])


@pytest.mark.parametrize("seed", range(60))
def test_what_is_left_is_the_longest_path_to_any_node(seed: int) -> None:
    """The time of the graph turned round, in which every node may also be the end."""
    n_nodes, tail, head, weight = random_graph(seed)
    dag = build_dag(n_nodes, tail, head, weight)
    source = np.full(n_nodes, n_nodes)
    turned = relaxed(n_nodes + 1, np.r_[head, source], np.r_[tail, np.arange(n_nodes)], np.r_[weight, np.zeros(n_nodes, int)])
    assert np.array_equal(backward(dag)[dag.place], turned[:n_nodes])


def test_another_set_of_weights_needs_no_new_order() -> None:
    dag = build_dag(3, [2, 0], [0, 1], [5, 7])
    assert forward(dag)[dag.place].tolist() == [5, 12, 0]
    assert forward(dag, dag.weight_ns * 2)[dag.place].tolist() == [10, 24, 0]


def test_a_circle_is_told_node_by_node() -> None:
    """0 -> 1 -> 2 -> 3 -> 1: of the four that never happen, the three of the circle."""
    with pytest.raises(Cycle) as caught:
        build_dag(5, [0, 1, 2, 3, 3], [1, 2, 3, 1, 4], [1] * 5)
    circle = caught.value.nodes.tolist()
    assert sorted(circle) == [1, 2, 3]
    waits_for = {2: 1, 3: 2, 1: 3}
    assert [waits_for[node] for node in circle] == circle[1:] + circle[:1]


def test_an_edge_to_nowhere_is_refused() -> None:
    with pytest.raises(DataError, match="not among the 3"):
        build_dag(3, [0], [3], [1])


@pytest.mark.parametrize("seed", range(60))
def test_fixed_nodes_happen_when_they_are_told_to(seed: int) -> None:
    """As if they had no edge into them but one from the start of the times."""
    n_nodes, tail, head, weight = random_graph(seed)
    rng = np.random.default_rng(seed)
    dag = build_dag(n_nodes, tail, head, weight)
    fixed, times = rng.choice(n_nodes, 3), rng.integers(-50, 200, 3)
    fixed, index = np.unique(fixed, return_index=True)
    kept = ~np.isin(head, fixed)
    start = np.full(len(fixed), n_nodes)
    expected = relaxed(n_nodes + 1, np.r_[tail[kept], start], np.r_[head[kept], fixed], np.r_[weight[kept], times[index]])
    assert np.array_equal(forward(dag, fixed=(dag.place[fixed], times[index]))[dag.place], expected[:n_nodes])


def test_the_rest_to_some_ends_is_that_of_paths_to_them() -> None:
    """0 -> 1 -> 2 and 0 -> 3: to node 1 alone there is nothing from 2 and 3."""
    dag = build_dag(4, [0, 1, 0], [1, 2, 3], [5, 7, 100])
    ends = np.zeros(4, dtype=bool)
    ends[dag.place[1]] = True
    rest = backward(dag, ends=ends)[dag.place]
    assert rest[:2].tolist() == [5, 0]
    assert np.all(rest[2:] < NEVER // 2)
