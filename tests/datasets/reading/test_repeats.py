"""Repeats of one measurement stay together; copies of one row need a decision."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.datasets import TABLES, read_any_table, read_campaign, read_table, repeat_groups


@pytest.fixture
def copied(campaign: Path) -> Path:
    """kernels.csv with its lines 2 and 4 once more at the end."""
    path = campaign / "kernels.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([*lines, lines[1], lines[3]]) + "\n", encoding="utf-8")
    return path


def test_copies_are_an_error_by_default(copied: Path) -> None:
    n_lines = len(copied.read_text(encoding="utf-8").splitlines())
    with pytest.raises(DataError) as caught:
        read_table(copied, "kernels")
    assert caught.value.place == f"{copied}, line {n_lines - 1}, column backend"
    assert "a row that differs from line 2" in caught.value.message
    assert "--duplicates" in str(caught.value.hint)
    with pytest.raises(DataError, match="differs from line 2"):
        read_campaign(copied.parent)


def test_copies_are_kept_or_dropped_on_request(copied: Path) -> None:
    kept, dropped = read_table(copied, "kernels", "keep"), read_table(copied, "kernels", "drop")
    assert len(kept) == len(dropped) + 2
    assert kept.iloc[:-2].equals(dropped)
    assert list(dropped.index) == list(range(len(dropped)))
    assert len(read_campaign(copied.parent, duplicates="drop").table("kernels")) == len(dropped)


def test_unknown_policy(copied: Path) -> None:
    with pytest.raises(UsageError, match="duplicates='ignore'"):
        read_table(copied, "kernels", "ignore")


def test_faults_after_a_dropped_copy_keep_their_line(copied: Path) -> None:
    lines = copied.read_text(encoding="utf-8").splitlines()
    copied.write_text("\n".join([*lines[:3], lines[1], *lines[3:-2]]).replace(",conv2,", ",conv9,", 1) + "\n", encoding="utf-8")
    line = next(number for number, text in enumerate(copied.read_text(encoding="utf-8").splitlines(), start=1) if "conv9" in text)
    with pytest.raises(DataError, match=f"line {line}, column layer: got 'conv9'"):
        read_campaign(copied.parent, duplicates="drop")


def test_equal_keys_share_a_group_and_are_no_copies(campaign: Path) -> None:
    frame = read_campaign(campaign).table("steps")
    assert repeat_groups(frame, TABLES["steps"].key).tolist() == [0, 1, 1]


def test_groups_are_the_distinct_keys() -> None:
    frame = pd.DataFrame({"a": ["x", "y", "x", "x"], "b": [1, 1, 1, 2]})
    assert repeat_groups(frame, ["a", "b"]).tolist() == [0, 1, 0, 2]
    assert repeat_groups(frame, ["a"]).tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("name", list(TABLES))
def test_key_columns_exist(name: str) -> None:
    schema = TABLES[name]
    assert set(schema.key) < set(schema.names)
    assert not schema.groups or schema.groups in schema.key


def test_copies_behind_a_dropped_row_are_named_by_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    path.write_text("m,time_s\n,1\n1,0.5\n2,0.7\n1,0.5\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 5, column m: got '1', expected a row that differs from line 3"):
        read_any_table(path, "time_s", na="drop")


def test_numbers_written_differently_are_no_copies(tmp_path: Path) -> None:
    """Rows are compared as they are written: 0.50 was not copied from 0.5."""
    path = tmp_path / "times.csv"
    path.write_text("m,time_s\n1,0.5\n1,0.50\n1,0.5\n", encoding="utf-8")
    assert len(read_any_table(path, "time_s", duplicates="drop")) == 2
