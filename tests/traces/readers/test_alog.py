"""ALOG as other programs write it, and as our own writer does."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from message_programs import Run, random_program, recorded

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.matching import match_messages
from mlperf.traces.events.table import COLUMNS, EventTable
from mlperf.traces.readers.alog import read_alog
from mlperf.traces.writers.alog import write_alog

HEAD = """-1 0 0 0 0 0 Me
-2 0 0 18 0 0
-3 0 0 2 0 0
-11 0 0 0 0 0
-13 0 1 2 0 0 red:boxes Sendrecv call
-13 0 3 4 0 0 blue:boxes MPI_Recv
-13 0 5 6 0 0 green:gray MPI_Waitall
-13 0 7 8 0 0 green:gray MPI_Barrier
-10 0 0 20 0 0 PRGN_BEGIN
-10 0 0 21 0 0 PRGN_END
"""
BODY = """20 0 0 0 0 100
20 1 0 0 0 101
1 0 0 0 0 110
-101 0 0 1 0 112 7 800
3 1 0 0 0 115
-102 1 0 0 0 140 7 800
4 1 0 0 0 141
-102 0 0 1 0 150 8 80
2 0 0 0 0 151
-101 1 0 0 0 148 8 80
5 0 0 0 0 160
-101 0 0 1 0 161 1 5
-101 0 0 1 0 161 2 6
6 0 0 0 0 170
21 0 0 0 0 180
21 1 0 0 0 181
7 1 0 0 0 185
99 1 0 0 0 190
8 1 0 0 0 195
"""


def read(tmp_path: Path, text: str) -> EventTable:
    path = tmp_path / "run.alog"
    path.write_text(text, encoding="utf-8")
    return read_alog(path)


def rows_of(table: EventTable, *kinds: Kind) -> list[tuple[int, ...]]:
    names = ("rank", "start_ns", "duration_ns", "peer", "tag", "size_bytes")
    picked = table.of_kind(*kinds)
    return [tuple(int(getattr(picked, name)[row]) for name in names) for row in range(len(picked))]


def test_messages_get_the_times_of_their_states(tmp_path: Path) -> None:
    """The state with one message each way is a call that does both; the one with two sends posts them and waits."""
    table = read(tmp_path, HEAD + BODY)
    assert rows_of(table, Kind.SEND) == [(0, 10_000, 41_000, 1, 7, 800), (1, 48_000, 0, 0, 8, 80)]
    assert rows_of(table, Kind.RECV) == [(0, 10_000, 41_000, 1, 8, 80), (1, 15_000, 26_000, 0, 7, 800)]
    assert rows_of(table, Kind.ISEND) == [(0, 60_000, 0, 1, 1, 5), (0, 60_000, 0, 1, 2, 6)]
    assert rows_of(table, Kind.WAIT) == [(0, 60_000, 10_000, -1, -1, 0)]
    posts, wait = table.of_kind(Kind.ISEND), table.of_kind(Kind.WAIT)
    assert posts.corr.tolist() == wait.corr.tolist() * 2
    assert rows_of(table, Kind.COLL) == [(1, 85_000, 10_000, -1, -1, 0)]


def test_regions_are_counted_and_flags_tell_what_was_assumed(tmp_path: Path) -> None:
    table = read(tmp_path, HEAD + BODY)
    regions = table.of_kind(Kind.REGION)
    assert regions.text(regions.name) == ["PRGN", "PRGN"]
    assert regions.step.tolist() == [0, 0]
    assert regions.duration_ns.tolist() == [80_000, 80_000]
    assumed = table.take((table.flags & Flag.ASSUMED_TIME) > 0)
    assert [tuple(row) for row in zip(assumed.rank.tolist(), assumed.tag.tolist(), strict=True)] == [(1, 8)]
    paired = table.take((table.flags & Flag.PAIRED) > 0)
    assert paired.corr[0] == paired.corr[1] >= 0
    assert table.n_ranks == 2
    assert table.notes == ("the head says 18 events, the file holds 19", "1 messages are in no state; they take no time")


def test_time_is_cycle_times_rollover_plus_timestamp(tmp_path: Path) -> None:
    table = read(tmp_path, "-11 0 0 0 0 1000\n-13 0 1 2 0 0 red MPI_Send\n1 0 0 0 2 5\n-101 0 0 0 2 6 1 1\n2 0 0 0 3 7\n")
    assert table.origin_ns == 2_005_000
    assert table.duration_ns.tolist() == [1_002_000]


def test_fractions_and_definitions_among_events_are_read(tmp_path: Path) -> None:
    table = read(
        tmp_path, "-13 0 1 2 0 0 red MPI_Send\n1 0 0 0 0 0.5\n-15 0 0 0 0 0 host-a\n-101 0 0 0 0 1 1 1\n2 0 0 0 0 7.25\n\n"
    )
    assert table.duration_ns.tolist() == [6_750]
    assert table.attributes["process_names"] == {0: "host-a"}


def test_a_state_that_is_never_left_is_flagged(tmp_path: Path) -> None:
    table = read(tmp_path, "-13 0 1 2 0 0 red Solve\n1 0 0 0 0 3\n9 0 0 0 0 10\n")
    assert table.duration_ns.tolist() == [7_000]
    assert table.flags.tolist() == [Flag.TRUNCATED]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 0 0 0 0\n", r"line 1: got '1 0 0 0 0', expected at least six fields"),
        ("-2 0 0 3 0 0\n", "holds definitions and no event"),
        ("-13 0 1 2 0 0 red S\n2 0 0 0 0 5\n", "line 2: type 2 ends a state of process 0 that has not begun"),
        ("-101 0 0 1 0 5\n", "line 1: got '-101 0 0 1 0 5', expected tag and size"),
        ("-101 0 0 1 0 5 1 -4\n", "line 1, column size: got -4, expected 0"),
        ("-101 0 0 -3 0 5 1 4\n", "line 1, column data: got -3, expected 0"),
        ("1 0 0 0 0 5\n1 x 0 0 0 6\n", "line 2, column process: got 'x', expected a whole number"),
        ("1 0 0 0 0 99999999999999999999\n", "line 1, column timestamp: got '99999999999999999999'"),
        ("1 0 0 0 0 9999999999999999\n", "line 1, column timestamp: got 9999999999999999, expected 0 to"),
        ("1 -2 0 0 0 5\n", "line 1, column process: got -2"),
        ("1 0 0 0 0 5.x\n", "line 1, column timestamp: got '5.x', expected microseconds"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, text)


@pytest.mark.parametrize("seed", range(25))
def test_what_is_written_is_read_again_to_the_nanosecond(tmp_path: Path, seed: int) -> None:
    """Random programs with posts, waits, calls that do both and collective operations; partners are found again by matching."""
    program = random_program(seed)
    table, _ = recorded(program, Run(program))
    # A message of its own tag each: the programs also take them in another order than they came.
    rows = np.arange(len(table))
    written = table.replace(tag=np.where(table.match >= 0, np.minimum(rows, table.match), -1).astype(np.int32)).by_rank()
    write_alog(written, tmp_path / "run.alog")
    found = match_messages(read_alog(tmp_path / "run.alog"))
    assert as_rows(found) == as_rows(written)


def as_rows(table: EventTable) -> list[tuple[object, ...]]:
    """Everything of every row that does not depend on the order of rows, sorted."""
    kept = [name for name in COLUMNS if name not in ("match", "name", "start_ns", "source", "host", "site", "step")]
    columns = [getattr(table, name).tolist() for name in kept]
    starts = table.start_ns.tolist()
    partner_starts = [starts[row] if row >= 0 else -1 for row in table.match.tolist()]
    return sorted(zip(starts, partner_starts, *columns, strict=True))


def test_gzip_is_read_whatever_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "x.alog").write_bytes(gzip.compress((HEAD + BODY).encode()))
    assert len(read_alog(tmp_path / "x.alog")) == 10
    (tmp_path / "y.alog").write_bytes(gzip.compress((HEAD + BODY).encode())[:-9])
    with pytest.raises(DataError, match="not a whole gzip file"):
        read_alog(tmp_path / "y.alog")
