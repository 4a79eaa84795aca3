"""Pipelines against a plain longest path through a graph written here, against exact limits and closed forms."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from mlperf.core.errors import UsageError
from mlperf.systems.coupling.pipeline import pipeline_makespan, uniform_makespan

Node = tuple[str, int, int]


def device_order(schedule: str, stage: int, n_stages: int, m: int) -> list[Node]:
    """What a stage does in its order, told by counters: how many forwards are ahead of backwards."""
    if schedule == "gpipe":
        return [("F", stage, i) for i in range(m)] + [("B", stage, i) for i in reversed(range(m))]
    forwards = backwards = 0
    order: list[Node] = []
    while backwards < m:
        may_go_ahead = forwards < m and forwards - backwards < n_stages - stage
        order.append(("F", stage, forwards) if may_go_ahead else ("B", stage, backwards))
        forwards, backwards = forwards + may_go_ahead, backwards + (not may_go_ahead)
    return order


def longest_path(forward: np.ndarray, backward: np.ndarray, schedule: str, transfer: float) -> float:
    """Relaxation over all edges until nothing moves: no order of execution is assumed."""
    n_stages, m = forward.shape
    took = {("F", j, i): forward[j, i] for j in range(n_stages) for i in range(m)}
    took |= {("B", j, i): backward[j, i] for j in range(n_stages) for i in range(m)}
    edges: list[tuple[Node, Node, float]] = []
    for stage in range(n_stages):
        order = device_order(schedule, stage, n_stages, m)
        edges += [(one, two, 0.0) for one, two in pairwise(order)]
        for i in range(m):
            if stage:
                edges.append((("F", stage - 1, i), ("F", stage, i), transfer))
                edges.append((("B", stage, i), ("B", stage - 1, i), transfer))
        edges += [(("F", n_stages - 1, i), ("B", n_stages - 1, i), 0.0) for i in range(m)]
    end = dict(took)
    moved = True
    while moved:
        moved = False
        for one, two, delay in edges:
            if end[one] + delay + took[two] > end[two]:
                end[two] = end[one] + delay + took[two]
                moved = True
    return max(end.values())


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
@pytest.mark.parametrize("seed", range(12))
def test_random_stages_take_the_longest_path(schedule: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_stages, m = int(rng.integers(1, 6)), int(rng.integers(1, 8))
    forward, backward = rng.random((2, n_stages, m))
    transfer = 0.3 * rng.random() * (seed % 2)
    found = pipeline_makespan(forward, backward, m, schedule, transfer)
    assert float(found) == pytest.approx(longest_path(forward, backward, schedule, transfer), rel=1e-12)


@pytest.mark.parametrize(("n_stages", "m"), [(1, 5), (4, 1), (4, 8), (8, 3)])
def test_equal_stages_have_the_known_bubble(n_stages: int, m: int) -> None:
    """(m+s-1)(f+b), bubble (s-1)/(m+s-1) (GPipe); chunks divide the bubble (Narayanan et al., section 2.2)."""
    ones = np.ones((n_stages, 1))
    for schedule in ("gpipe", "1f1b"):
        assert pipeline_makespan(ones, 2 * ones, m, schedule) == pytest.approx((m + n_stages - 1) * 3.0)
    whole = pipeline_makespan(np.full((2 * n_stages, 1), 0.5), np.ones((2 * n_stages, 1)), m * n_stages, "interleaved", 0.0, 2)
    assert float(whole) == pytest.approx(3.0 * m * n_stages + 3.0 * (n_stages - 1) / 2)


@pytest.mark.parametrize("seed", range(20))
def test_unequal_stages_lie_within_their_bounds(seed: int) -> None:
    """GPipe is two flow shops; 1F1B lies between the busiest stage and all stages once with the slowest passes for the rest.

    Where forward and backward passes have their slowest in different stages, sum t + (m-1) max t can be exceeded.
    """
    rng = np.random.default_rng(seed)
    n_stages, m = int(rng.integers(2, 9)), int(rng.integers(1, 20))
    forward = rng.random((n_stages, 1))
    backward = rng.random((n_stages, 1))
    both = forward + backward
    found = float(pipeline_makespan(forward, backward, m, "1f1b"))
    apart = (m - 1) * (forward.max() + backward.max())
    assert m * both.max() - 1e-12 <= found <= both.sum() + apart + 1e-12
    alike = float(pipeline_makespan(forward, 2.0 * forward, m, "1f1b"))
    assert 3.0 * m * forward.max() - 1e-12 <= alike <= 3.0 * (forward.sum() + (m - 1) * forward.max()) + 1e-12
    shop = sum(each.sum() + (m - 1) * each.max() for each in (forward, backward))
    assert float(pipeline_makespan(forward, backward, m, "gpipe")) == pytest.approx(shop)


@pytest.mark.parametrize("seed", range(60))
def test_the_closed_form_is_the_longest_path(seed: int) -> None:
    """Equal stages before a last one that may be slower, any transfer; interleaved with transfers up to a chunk's forward pass."""
    rng = np.random.default_rng(seed)
    n_stages, m = int(rng.integers(1, 9)), int(rng.integers(1, 30))
    forward, backward, transfer = rng.random(), 2 * rng.random(), rng.choice([0.0, 0.05, 0.5, 3.0]) * rng.random()
    imbalance = 1.0 + (n_stages - 1) * rng.random() * (seed % 2)
    shares = np.full((n_stages, 1), (n_stages - imbalance) / max(n_stages - 1, 1))
    shares[-1] = imbalance
    for place, schedule in enumerate(("gpipe", "1f1b")):
        whole = pipeline_makespan(forward * shares, backward * shares, m, schedule, transfer)
        assert float(uniform_makespan(forward, backward, n_stages, m, place, transfer, imbalance)) == pytest.approx(float(whole))
    chunks, m, small = int(rng.integers(1, 4)), n_stages * int(rng.integers(1, 5)), 0.9 * rng.random()
    if chunks == 1:
        return
    ones = np.full((n_stages * chunks, 1), 1.0 / chunks)
    whole = pipeline_makespan(ones, 2 * ones, m, "interleaved", small / chunks * (n_stages > 1), chunks)
    assert float(uniform_makespan(1.0, 2.0, n_stages, m, 2, small / chunks, 1.0, chunks)) == pytest.approx(float(whole))


def test_configurations_are_solved_together() -> None:
    rng = np.random.default_rng(0)
    forward, backward = rng.random((2, 3, 1, 50))
    together = pipeline_makespan(forward, backward, 5, "1f1b", np.full(50, 0.1))
    alone = [float(pipeline_makespan(forward[..., i], backward[..., i], 5, "1f1b", 0.1)) for i in range(50)]
    assert together.tolist() == pytest.approx(alone)


def test_shapes_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(UsageError, match=r"t_fwd of shape \(3,\), expected \(stages, 1 or 4"):
        pipeline_makespan(np.ones(3), np.ones(3), 4, "gpipe")
    with pytest.raises(UsageError, match="3 forward and 2 backward stages"):
        pipeline_makespan(np.ones((3, 1)), np.ones((2, 1)), 4, "gpipe")
