"""Time-independent traces of SimGrid."""

from __future__ import annotations

from pathlib import Path

import pytest
from message_programs import Run, protocol_timing, random_program, recorded

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.matching import match_collectives, match_messages
from mlperf.traces.readers.ti import read_ti
from mlperf.traces.replay import replay
from mlperf.traces.writers.ti import write_ti

TEXT = """0 init
0 compute 1e+03
0 send 1 4 10 2
0 bcast 7 1 6
1 init
1 recv 0 4 10 2
1 compute 50
1 bcast 7 1 6
1 barrier
0 barrier
0 finalize
"""


def read(tmp_path: Path, text: str) -> object:
    (tmp_path / "run.ti").write_text(text, encoding="utf-8")
    return read_ti(tmp_path / "run.ti")


def test_actions_become_events(tmp_path: Path) -> None:
    """Char and byte count one byte each, one flop is one nanosecond, the root stands behind the size."""
    table = match_collectives(match_messages(read(tmp_path, TEXT)))
    first = table.take(table.rank == 0)
    assert first.kind.tolist() == [Kind.COMPUTE, Kind.SEND, Kind.COLL, Kind.COLL]
    assert first.start_ns.tolist() == [0, 1000, 1000, 1000]
    assert first.size_bytes.tolist() == [0, 10, 7, 0]
    assert first.peer.tolist() == [-1, 1, 1, -1]
    assert first.text(first.name) == ["", "", "bcast", "barrier"]
    assert ((first.flags & Flag.ASSUMED_TIME) > 0).tolist() == [False, True, True, True]
    second = table.take(table.rank == 1)
    assert second.corr.tolist()[-2:] == first.corr.tolist()[-2:]


def test_types_stand_where_simgrid_reads_them(tmp_path: Path) -> None:
    """As the parsers of SimGrid's replay: a root is no type, and a count alone is of bytes after a bare init, else of doubles."""
    lines = (
        *(
            "bcast 10 1",
            "bcast 10 1 3",
            "reduce 10 5 2",
            "reduce 10 5 2 1",
            "allreduce 10 1",
            "allreduce 10 1 2",
            "alltoall 10 10 3 3",
        ),
        *("gather 10 10 2", "gather 10 10 2 3 3", "allgather 10 10 1 1", "scatter 10 10 0 1 1", "scan 10 2 3"),
        *("reducescatter 10 20 30 7", "reducescatter 10 20 30 7 3", "send 1 0 10", "recv 1 0 10 1"),
    )
    counts = [10, 20, 10, 40, 10, 10, 20, 10, 20, 40, 40, 20, 60, 120, 10, 40]
    untyped = {0, 2, 4, 7, 12, 14}
    for init, each in (("0 init", 1), ("0 init 1", 8)):
        text = "\n".join((init, "1 init", "2 init", *(f"0 {line}" for line in lines)))
        found = read(tmp_path, text)
        assert found.size_bytes.tolist() == [count * (each if place in untyped else 1) for place, count in enumerate(counts)]


def test_a_list_names_one_file_a_rank(tmp_path: Path) -> None:
    lines = TEXT.splitlines()
    for rank in "01":
        (tmp_path / f"r{rank}").write_text("\n".join(line for line in lines if line.startswith(rank)), encoding="utf-8")
    assert len(read(tmp_path, "r0\nr1\n")) == len(read(tmp_path, TEXT))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 Send 1 0 4\n", "line 1: got '0 Send 1 0 4', expected one of compute, send"),
        ("0 send 1\n", "line 1: got '0 send 1', expected send peer tag count"),
        ("0 compute -5\n", "line 1: got '-5', expected a count"),
        ("0 compute inf\n", "line 1: got 'inf', expected a count"),
        ("x send 1 0 4\n", "line 1, column rank: got 'x'"),
        ("0 init\n2 init\n", r"has ranks \[0, 2\], expected 0 to 1"),
        ("0 send 5 0 4\n", "got a message with rank 5 of 1"),
        ("missing\n", "missing: cannot be read"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, text)


@pytest.mark.parametrize("seed", range(12))
def test_a_written_program_replays_like_the_recorded_one(tmp_path: Path, seed: int) -> None:
    """Of the programs that blocking actions can say; the model uses nothing of the recorded times of messages."""
    made = random_program(seed, collectives=False, posts=False)
    table = match_messages(recorded(made, Run(made))[0])
    if (table.flags & Flag.PAIRED).any():
        with pytest.raises(DataError, match="calls that send and receive at once"):
            write_ti(table, tmp_path / "x.ti")
        return
    write_ti(table, tmp_path / "x.ti")
    timing = protocol_timing(eager_times="model", sync_times="model")
    found = match_messages(read_ti(tmp_path / "x.ti"))
    assert replay(found, timing).total_ns == replay(table, timing).total_ns
