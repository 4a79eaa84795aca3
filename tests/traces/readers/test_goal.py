"""GOAL schedules."""

from __future__ import annotations

from pathlib import Path

import pytest
from message_programs import Run, protocol_timing, random_program, recorded

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.matching import match_messages
from mlperf.traces.readers.goal import read_goal
from mlperf.traces.replay import replay
from mlperf.traces.writers.goal import write_goal

TEXT = """num_ranks 2 // two

rank 0 {
a: calc 100
b: send 10b to 1 tag 7 cpu 0 nic 0
b requires a /* after */
c: recv 20b from 1
c irequires b
d: calc 5
d requires c
d requires b
}
rank 1 {
x: recv 10b from 0 tag 7
y: send 20b to 0
y requires x
}
"""


def read(tmp_path: Path, text: str) -> object:
    (tmp_path / "x.goal").write_text(text, encoding="utf-8")
    return read_goal(tmp_path / "x.goal")


def test_statements_become_calls(tmp_path: Path) -> None:
    """The receive goes on beside the send, which is therefore posted; the last computation waits for both."""
    table = read(tmp_path, TEXT)
    first = table.take(table.rank == 0)
    assert first.kind.tolist() == [Kind.COMPUTE, Kind.ISEND, Kind.RECV, Kind.WAIT, Kind.COMPUTE]
    assert first.start_ns.tolist() == [0, 100, 100, 100, 100]
    assert first.duration_ns.tolist() == [100, 0, 0, 0, 5]
    assert first.corr[1] == first.corr[3]
    assert first.tag.tolist()[1:3] == [7, 0]
    assert match_messages(table).match.tolist() == [-1, 5, 6, -1, -1, 1, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rank 0 {\n}\n", r"line 1: got 'rank 0 \{', expected each rank below num_ranks"),
        ("num_ranks 1\nrank 0 {\ncalc 5\n", "ends inside a rank"),
        ("num_ranks 1\nrank 0 {\ncalc 5\ncalc 6\n}\n", "line 3: statements of lines 3, 4 are in no order"),
        ("num_ranks 1\nrank 0 {\na: calc 5\nb: calc 6\na requires b\nb requires a\n}\n", "in a circle"),
        ("num_ranks 1\nrank 0 {\na: calc 5\na requires z\n}\n", "line 4: .*z is none before this line"),
        ("num_ranks 1\nrank 0 {\nsend -4b to 0\n}\n", "line 3, column size: got -4, expected >= 0"),
        ("num_ranks 1\nrank 0 {\nsend 4b to 3\n}\n", "got a message with rank 3 of 1"),
        ("num_ranks 1\nrank 0 {\nsendx 4b to 3\n}\n", "line 3: got 'sendx 4b to 3', expected calc T, send"),
        ("hello\n", "line 1: got 'hello', expected num_ranks N"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, text)


@pytest.mark.parametrize("seed", range(20))
def test_a_written_program_replays_like_the_recorded_one(tmp_path: Path, seed: int) -> None:
    """Under a model that uses nothing of the recorded times of messages, both must end alike on every rank."""
    made = random_program(seed, collectives=False, posts=False)
    table = recorded(made, Run(made))[0]
    write_goal(table, tmp_path / "x.goal")
    found = match_messages(read_goal(tmp_path / "x.goal"))
    timing = protocol_timing(eager_times="model", sync_times="model")
    assert replay(found, timing).total_ns == replay(match_messages(table), timing).total_ns
