"""Collective operations by name and root."""

from __future__ import annotations

import pytest

from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.graph.calls import calls_of
from mlperf.traces.graph.groups import Flow, flow_of, groups_of


@pytest.mark.parametrize(
    ("flow", "names"),
    [
        (Flow.FROM_ROOT, "MPI_Bcast bcast ncclDevKernel_Broadcast_RING_LL MPI_Scatter MPI_Scatterv"),
        (Flow.TO_ROOT, "MPI_Reduce MPI_Gather gatherv MPI_Ireduce"),
        (Flow.UP, "MPI_Scan MPI_Exscan scan"),
        (
            Flow.ALL,
            "MPI_Allreduce MPI_Allgatherv MPI_Reduce_scatter_block reducescatter MPI_Barrier MPI_Alltoall all_gather AllReduce",
        ),
    ],
)
def test_who_waits_for_whom_is_in_the_name(flow: Flow, names: str) -> None:
    assert {name: flow_of(name) for name in names.split()} == dict.fromkeys(names.split(), flow)


def test_members_share_a_number_and_the_root_is_a_member() -> None:
    table = event_table(
        6,
        start_ns=[5, 1, 2, 9, 9, 9],
        rank=[0, 1, 2, 0, 1, 2],
        kind=Kind.COLL,
        corr=[70, 70, 70, 3, 3, -1],
        name=[0, 0, 0, 0, 0, 0],
        peer=[1, 1, 1, 2, 2, 2],
        strings=["MPI_Bcast"],
    )
    groups = groups_of(table, calls_of(table))
    assert groups.operation.tolist() == [0, 0, 1, 1, 1]
    assert groups.call.tolist() == [1, 3, 0, 2, 4]
    assert groups.root.tolist() == [-1, 2]
    assert groups.flow.tolist() == [Flow.ALL, Flow.FROM_ROOT], "its root, rank 2, is not among the members of the first"
    assert groups.is_root.tolist() == [False, False, False, True, False]


@pytest.mark.parametrize(("flags", "until"), [(0, [0, 1, 2]), (Flag.ASSUMED_TIME, [2, 2, 2])])
def test_only_recorded_times_show_whom_partial_sums_wait_for(flags: int, until: list[int]) -> None:
    """Rank 0 leaves at once, rank 1 when rank 0 has come: of a program without times nobody knows."""
    columns = {"start_ns": [10, 20, 30], "rank": [0, 1, 2], "name": 0, "strings": ["MPI_Scan"]}
    table = event_table(3, kind=Kind.COLL, corr=1, flags=flags, **columns)
    assert groups_of(table, calls_of(table)).until.tolist() == until
