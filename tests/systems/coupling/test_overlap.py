"""Overlap against small event simulations written here: buckets behind a backward pass, layers gathered ahead."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from mlperf.systems.coupling.overlap import exposed, overlapped_backward_s, sharded_pass


def test_exposed_has_its_limits() -> None:
    ready = np.array([1.0, 2.0, 3.0])
    assert exposed(ready, np.zeros(3)) == 3.0
    assert exposed(np.array([3.0]), np.array([0.5])) == 3.5
    assert exposed(ready, np.full(3, 10.0)) == 31.0
    assert exposed(ready[:, None] * np.array([1.0, 2.0]), np.full((3, 1), 0.25)).tolist() == [3.25, 6.25]


@pytest.mark.parametrize("seed", range(20))
def test_equal_buckets_have_the_closed_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, backward, exchange = int(rng.integers(1, 30)), rng.random(), 2.0 * rng.random()
    ready = backward * np.arange(1, count + 1) / count
    assert overlapped_backward_s(backward, exchange, count) == pytest.approx(exposed(ready, np.full(count, exchange / count)))
    assert overlapped_backward_s(backward, 0.0, count) == pytest.approx(backward)
    assert overlapped_backward_s(backward, exchange, 1) == pytest.approx(backward + exchange)


def in_small_steps(backward: float, exchange: float, count: int, slowdown: float, step: float) -> float:
    """Backward work at 1 / slowdown while a bucket is being exchanged, stepped through time."""
    done = sent = now = 0.0
    while sent < exchange - 1e-12:
        ready = min(int(done / backward * count + 1e-9), count)
        busy = sent < ready * exchange / count - 1e-12
        done = min(done + step / (slowdown if busy else 1.0), backward)
        sent += step if busy else 0.0
        now += step
    return now


@pytest.mark.parametrize(("exchange", "count", "slowdown"), [(0.4, 5, 1.3), (1.5, 8, 1.3), (0.9, 4, 2.0), (0.2, 1, 1.5)])
def test_slowed_kernels_are_those_of_small_steps(exchange: float, count: int, slowdown: float) -> None:
    stepped = in_small_steps(1.0, exchange, count, slowdown, 1e-4)
    found = overlapped_backward_s(np.array([1.0]), np.array([exchange]), np.array([count]), np.array([slowdown]))
    assert found[0] == pytest.approx(stepped, abs=3e-3)


def test_configurations_with_other_numbers_of_buckets_do_not_disturb_one_another() -> None:
    counts = np.array([1.0, 3.0, 25.0])
    together = overlapped_backward_s(np.ones(3), np.full(3, 0.7), counts, np.full(3, 1.2))
    alone = [float(overlapped_backward_s(np.ones(1), np.array([0.7]), counts[[i]], np.array([1.2]))[0]) for i in range(3)]
    assert together.tolist() == pytest.approx(alone)


def simulated_pass(compute: list[float], gather: list[float], scatter: list[float], prefetch: int) -> float:
    """Events of two resources: a processor that takes layers in order, a stream that takes messages in order of issue."""
    n_layers = len(compute)
    queue: list[tuple[str, int]] = []
    events: list[tuple[float, int, str, int]] = []
    gathered: set[int] = set()
    state = {"stream_busy": False, "next": 0, "computing": False, "order": 0}

    def issue(kind: str, layer: int) -> None:
        if layer < n_layers and (kind, layer) not in issued:
            issued.add((kind, layer))
            queue.append((kind, layer))

    def later(time: float, what: str, layer: int) -> None:
        state["order"] += 1
        heapq.heappush(events, (time, state["order"], what, layer))

    issued: set[tuple[str, int]] = set()
    issue("gather", 0)
    now = 0.0
    while True:
        if not state["computing"] and state["next"] in gathered:
            layer = state["next"]
            state["computing"] = True
            for ahead in range(layer + 1, layer + prefetch + 1):
                issue("gather", ahead)
            later(now + compute[layer], "computed", layer)
        if not state["stream_busy"] and queue:
            kind, layer = queue.pop(0)
            state["stream_busy"] = True
            later(now + (gather if kind == "gather" else scatter)[layer], kind, layer)
        if not events:
            return now
        now, _, what, layer = heapq.heappop(events)
        if what == "computed":
            state["computing"] = False
            state["next"] = layer + 1
            if scatter[layer]:
                issue("scatter", layer)
            if not prefetch:
                issue("gather", layer + 1)
        else:
            state["stream_busy"] = False
            if what == "gather":
                gathered.add(layer)


@pytest.mark.parametrize("prefetch", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_a_sharded_pass_is_that_of_its_events(prefetch: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_layers = int(rng.integers(1, 10))
    compute, gather, scatter = rng.random((3, n_layers)) * np.array([[1.0], [0.8], [0.6]])
    for back in (scatter, np.zeros(n_layers)):
        found = sharded_pass(compute, gather, back, prefetch).end_s
        assert float(found) == pytest.approx(simulated_pass(compute.tolist(), gather.tolist(), back.tolist(), prefetch), abs=1e-12)


@pytest.mark.parametrize(("compute", "gather", "scatter"), [(1.0, 0.3, 0.2), (0.2, 1.0, 0.5), (1.0, 0.6, 0.7)])
def test_equal_layers_have_the_closed_forms(compute: float, gather: float, scatter: float) -> None:
    """One gather, then the slower of both for every layer; other numbers of layers beside it change nothing."""
    counts = np.array([1.0, 2.0, 7.0])
    parts = [np.full((1, 3), each) for each in (compute, gather, scatter)]
    forward = sharded_pass(parts[0], parts[1], 0.0, 1, counts).end_s
    assert forward.tolist() == pytest.approx((gather + (counts - 1) * max(compute, gather) + compute).tolist())
    backward = sharded_pass(*parts, 1, counts).end_s
    for count, end in zip(counts[1:], backward[1:], strict=True):
        last = gather + max(compute, gather) + (count - 2) * max(compute, gather + scatter)
        assert end == pytest.approx(last + max(compute, scatter) + scatter)
    serial = sharded_pass(parts[0], parts[1], 0.0, 0, counts).end_s
    assert serial.tolist() == pytest.approx((counts * (compute + gather)).tolist())
