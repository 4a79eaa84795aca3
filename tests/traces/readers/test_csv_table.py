"""Traces as CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from message_programs import Run, random_program, recorded

from mlperf.core.errors import DataError
from mlperf.traces.events.table import COLUMNS
from mlperf.traces.readers.csv_table import read_csv
from mlperf.traces.writers.csv_table import write_csv


@pytest.mark.parametrize("seed", range(5))
def test_what_is_written_is_read_again(tmp_path: Path, seed: int) -> None:
    program = random_program(seed)
    table = recorded(program, Run(program))[0]
    write_csv(table, tmp_path / "run.csv")
    found = read_csv(tmp_path / "run.csv")
    assert found.text(found.name) == table.text(table.name)
    for name in set(COLUMNS) - {"name", "name2", "site"}:
        assert np.array_equal(getattr(found, name), getattr(table, name)), name


def test_events_before_the_start_are_written_from_the_first_of_them(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text(HEAD + "5,2,0,SEND,1,x\n8,9,1,RECV,0,x\n", encoding="utf-8")
    table = read_csv(tmp_path / "run.csv")
    write_csv(table.replace(start_ns=table.start_ns - 7), tmp_path / "early.csv")
    assert read_csv(tmp_path / "early.csv").start_ns.tolist() == [0, 3]


HEAD = "start_ns,duration_ns,rank,kind,peer,name\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "line 1: got column 'a'"),
        ("start_ns,rank,kind\n1,0,SEND\n", "line 1: lacks column duration_ns"),
        (HEAD + "1,2,0,SEND,1,x\n1,2,0,SENT,1,x\n", "line 3, column kind: got 'SENT', expected a kind such as SEND"),
        (HEAD + "1,2,99999999999,SEND,1,x\n", "line 2, column rank: got '99999999999', expected a whole number of int32"),
        (HEAD + "1.5,2,0,SEND,1,x\n", "line 2, column start_ns: got '1.5'"),
        (HEAD + "1,-2,0,SEND,1,x\n", "line 2, column duration_ns: got -2, expected a duration of 0 to"),
        (HEAD + "1,2,0,SEND,1,x\n9223372036854775807,2,0,SEND,1,x\n", "line 3, column start_ns: got 9223372036854775807, expected"),
        (HEAD + "-9223372036854775808,2,0,SEND,1,x\n", "line 2, column start_ns: got -9223372036854775808, expected a time"),
        (
            HEAD + "1,2,0,SEND,1,x\n-3,2,0,SEND,1,x\n",
            "line 3, column start_ns: got -3, expected a time of 0 or more\n  hint: ",
        ),
        (HEAD + "1,2,0,SEND,1,x\n1,2,0,SEND,1,x,7,8\n", "line 3: got 8 cells, expected 6"),
        (HEAD + "1,2,0,SEND,1,x,7\n1,2,0,SEND,1,x,7\n", "line 2: got 7 cells, expected 6"),
        (HEAD + "1,2,-3,SEND,1,x\n", "line 2, column rank: got -3, expected a rank from 0 to 4194303, or -1 for none"),
        (HEAD + "1,2,2147483647,SEND,1,x\n", "line 2, column rank: got 2147483647, expected a rank"),
        (HEAD + "1,2,0,SEND,-7,x\n", "line 2, column peer: got -7, expected a rank"),
        ("start_ns,duration_ns,rank,kind,rank\n1,2,0,SEND,1\n", "line 1: column 'rank' is there twice"),
        ("\n\n", "is no CSV table .*\n  hint: A first line names the columns, at least start_ns"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "run.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_csv(tmp_path / "run.csv")


def test_names_are_text(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text(HEAD + "1,2,0,SEND,1,x\n1,2,0,RECV,-1,\n", encoding="utf-8")
    found = read_csv(tmp_path / "run.csv")
    assert found.text(found.name) == ["x", ""]
    assert found.peer.tolist() == [1, -1]


def test_readings_of_a_clock_count_from_the_first_event(tmp_path: Path) -> None:
    """Nanoseconds since 1970 have 19 digits; a run that computes an hour before its first message keeps that hour."""
    epoch, hour = 1_700_000_000_000_000_000, 3_600_000_000_000
    for first, wanted in ((epoch, 0), (hour, hour)):
        rows = f"{first + 5},2,0,SEND,1,x\n{first},9,1,RECV,0,x\n"
        (tmp_path / "run.csv").write_text(HEAD + rows, encoding="utf-8")
        found = read_csv(tmp_path / "run.csv")
        assert found.start_ns.tolist() == [wanted + 5, wanted]
        assert found.origin_ns == (epoch if first == epoch else 0)
        assert len(found.notes) == (first == epoch)
