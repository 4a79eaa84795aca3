from __future__ import annotations

import numpy as np
import pytest

from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.links.collectives import ring_traffic


def simulated(operation: str, inputs: list[np.ndarray]) -> np.ndarray:
    """Bytes from each member to the next, counted on a ring that moves one block of numbers at a time and gets the result right."""
    n = len(inputs)
    sent = np.zeros(n)
    if operation == "allgather":
        held = [{member: inputs[member]} for member in range(n)]
        for step in range(n - 1):
            for member in range(n):
                block = (member - step) % n
                held[(member + 1) % n][block] = held[member][block]
                sent[member] += held[member][block].nbytes
        assert all(len(each) == n for each in held)
        return sent
    blocks = [np.array_split(each.astype(float), n) for each in inputs]
    for step in range(n - 1):
        for member in range(n):
            block = (member - step) % n
            blocks[(member + 1) % n][block] = blocks[(member + 1) % n][block] + blocks[member][block]
            sent[member] += blocks[member][block].nbytes
    total = np.array_split(sum(each.astype(float) for each in inputs), n)
    assert all(np.allclose(blocks[(block - 1) % n][block], total[block]) for block in range(n))
    if operation == "allreduce":
        for step in range(n - 1):
            for member in range(n):
                block = (member + 1 - step) % n
                blocks[(member + 1) % n][block] = blocks[member][block]
                sent[member] += blocks[member][block].nbytes
        assert all(np.allclose(own, whole) for each in blocks for own, whole in zip(each, total, strict=True))
    return sent


@pytest.mark.parametrize("n", [2, 3, 8])
@pytest.mark.parametrize(
    ("operation", "name"),
    [
        ("allreduce", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
        ("reducescatter", "MPI_Reduce_scatter"),
        ("allgather", "nccl:_all_gather_base"),
    ],
)
def test_members_pass_on_what_a_ring_that_works_does(operation: str, name: str, n: int) -> None:
    inputs = [np.random.default_rng(member).normal(size=24) for member in range(n)]
    events = event_table(
        n, kind=int(Kind.COLL), rank=np.arange(n), corr=3, name=0, size_bytes=inputs[0].nbytes, duration_ns=5, strings=(name,)
    )
    found = ring_traffic(events)
    np.testing.assert_allclose(found.size_bytes, simulated(operation, inputs))
    assert found.receiver.tolist() == [(member + 1) % n for member in range(n)]
    assert found.n_left_out == 0


def test_operations_of_unknown_members_kind_or_size_are_counted() -> None:
    events = event_table(
        7,
        kind=int(Kind.COLL),
        rank=[0, 1, 0, 0, 1, 0, 1],
        corr=[1, 1, 2, 3, 3, 4, 4],
        name=[0, 0, 0, 1, 1, 0, 0],
        size_bytes=[8, 8, 8, 8, 8, 0, 0],
        strings=("allreduce", "barrier"),
    )
    found = ring_traffic(events)
    assert found.sender.tolist() == [0, 1]
    assert found.n_left_out == 5
