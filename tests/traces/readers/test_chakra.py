"""Execution traces: order of streams rebuilt, repairs counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.readers.chakra import read_chakra
from mlperf.traces.readers.registry import read_trace


def node(number: int, length_us: int, stream: int, *before: int, **fields: Any) -> dict[str, Any]:
    attributes = [{"name": "stream", "int64Val": str(stream)}]
    return {
        "id": str(number),
        "name": f"n{number}",
        "type": "COMP_NODE",
        "durationMicros": str(length_us),
        "dataDeps": [str(each) for each in before],
        "attr": attributes,
        **fields,
    }


def read(tmp_path: Path, *nodes: dict[str, Any]) -> Any:
    path = tmp_path / "a.et.json"
    path.write_text(json.dumps({"schema": "1.0", "nodes": list(nodes)}))
    return read_trace(path)


def test_starts_follow_from_dependencies_and_streams(tmp_path: Path) -> None:
    """On one stream 1 (10 us) and 2 (5 us), on another 3 (7 us), which needs 1; 4 needs 2 and 3."""
    table = read(tmp_path, node(1, 10, 7), node(2, 5, 7), node(3, 7, 8, 1), node(4, 1, 7, 2, 3, type="COMM_COLL_NODE"))
    assert table.start_ns.tolist() == [0, 10_000, 10_000, 17_000]
    assert [Kind(each).name for each in table.kind.tolist()] == ["KERNEL", "KERNEL", "KERNEL", "COLL"]
    assert set(table.flags.tolist()) == {Flag.ASSUMED_TIME}
    assert table.notes == ("the trace gives no starts: they follow from dependencies and the order of streams",)


def test_overlaps_on_a_stream_are_repaired_and_counted(tmp_path: Path) -> None:
    starts = (100, 105, 300)
    table = read(tmp_path, *(node(place, 10, 7, startTimeMicros=str(start)) for place, start in enumerate(starts)))
    assert table.start_ns.tolist() == [0, 10_000, 200_000]
    assert (table.flags & int(Flag.REPAIRED) > 0).tolist() == [False, True, False]
    assert table.notes[0].startswith("1 nodes began before")


@pytest.mark.parametrize(
    "nodes",
    [
        [node(1, 1, 7, 2), node(2, 1, 8, 1)],
        [node(1, 1, 7), node(1, 1, 7)],
        [node(1, 1, 7, durationMicros=-1)],
        [{"id": 1}],
        [{"id": "x", "name": "a"}],
        [7],
    ],
)
def test_what_cannot_be_is_refused(nodes: list[Any], tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.et\.json"):
        read(tmp_path, *nodes)


def test_what_is_no_execution_trace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for text in ("[]", "{", '{"nodes": 3}'):
        path.write_text(text)
        with pytest.raises(DataError):
            read_chakra(path)


@pytest.mark.data
def test_an_operator_graph_of_pytorch(shared_data: Path) -> None:
    """14,392 nodes by its description."""
    table = read_chakra(shared_data / "kineto_traces" / "resnet_2080ti_execution_trace.json.gz")
    assert len(table) == 14_392
    assert set(table.kind.tolist()) == {Kind.REGION}
