"""Parquet through pyarrow: its types, its missing values, its index, and what is said where pyarrow is absent.

Where pyarrow is not installed, it is stood in for by the few of its functions that the reader calls.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from mlperf.core.errors import DataError, MissingExtraError
from mlperf.datasets import read_any_table

COLUMNS: dict[str, list[Any]] = {
    "__index_level_0__": [0, 1, 2],
    "m": [8, 16, 32],
    "gpu": ["A100", None, "T4"],
    "size": [0.5, None, 2.0],
    "fused": [True, False, True],
    "time (s)": [0.1, 0.2, 1.5],
}


class ColumnStandIn:
    """What ``pyarrow.ChunkedArray`` says of itself."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = list(values)
        self.null_count = sum(value is None for value in values)

    def to_pylist(self) -> list[Any]:
        return self.values

    def to_numpy(self) -> np.ndarray[Any, Any]:
        return np.array(self.values)


class TableStandIn:
    """What ``pyarrow.Table`` says of itself."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.column_names = list(columns)
        self.num_rows = len(columns["m"])
        self.columns = [ColumnStandIn(values) for values in columns.values()]

    def column(self, index: int) -> ColumnStandIn:
        return self.columns[index]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "times.parquet"
    file.write_bytes(b"PAR1...PAR1")
    return file


def stand_in(path: Path, monkeypatch: pytest.MonkeyPatch, columns: dict[str, list[Any]] | None) -> None:
    """Let ``import pyarrow.parquet`` give these columns; None: it cannot open the file."""
    if find_spec("pyarrow") is not None:
        if columns is not None:
            import pyarrow
            from pyarrow import parquet as real

            real.write_table(pyarrow.table(columns), path)
        return

    def read_table(stream: bytes) -> TableStandIn:
        assert stream == b"PAR1...PAR1"
        if columns is None:
            raise OSError("Parquet magic bytes not found in footer.\nmore")
        return TableStandIn(columns)

    arrow, parquet = ModuleType("pyarrow"), ModuleType("pyarrow.parquet")
    arrow.BufferReader, parquet.read_table = bytes, read_table  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyarrow", arrow)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", parquet)


def test_types_are_kept_and_the_index_is_left_out(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(path, monkeypatch, COLUMNS)
    frame = read_any_table(path, "time (s)", others="aside")
    assert frame.to_dict("list") == {"m": [8, 16, 32], "fused": ["True", "False", "True"], "time (s)": [0.1, 0.2, 1.5]}
    assert frame["m"].dtype == np.int64
    left_out = [note.removeprefix(f"{path}, column ").partition(":")[0] for note in frame.attrs["notes"]]
    assert left_out == ["__index_level_0__", "gpu", "size"]
    assert "1 of 3 rows (row 2" in frame.attrs["notes"][1]


def test_rows_without_values_are_dropped_on_request(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(path, monkeypatch, COLUMNS)
    frame = read_any_table(path, "time (s)", columns=["size"], na="drop")
    assert frame.to_dict("list") == {"size": [0.5, 2.0], "time (s)": [0.1, 1.5]}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"size": [0.5, None, 1.0]}, "row 2, column size: got no value, expected a value"),
        ({"size": [0.5, float("inf"), 1.0]}, "row 2, column size: got 'inf', expected a number"),
        ({"size": [1, 2, 3], "time (s)": [0.5, -1.0, 1.0]}, r"row 2, column time \(s\): got '-1.0', expected a number > 0"),
        ({name: [] for name in COLUMNS}, "row 1: got columns and no rows"),
    ],
)
def test_places_are_rows(change: dict[str, list[Any]], words: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(path, monkeypatch, COLUMNS | change)
    with pytest.raises(DataError, match=words):
        read_any_table(path, "time (s)", columns=["m", "size"])


def test_copies_are_found(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(path, monkeypatch, {"m": [8, 16, 8], "time (s)": [1.0, 2.0, 1.0]})
    with pytest.raises(DataError, match="row 3, column m: got '8', expected a row that differs from row 1"):
        read_any_table(path, "time (s)")
    assert len(read_any_table(path, "time (s)", duplicates="drop")) == 2


def test_a_damaged_file_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(path, monkeypatch, None)
    with pytest.raises(DataError, match=r"times.parquet: is no whole Parquet file \(.*Parquet .*\)"):
        read_any_table(path, "time (s)")


def test_without_pyarrow_the_remedy_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"times.parquet: this needs pyarrow") as caught:
        read_any_table(path, "time (s)")
    assert "pip install pyarrow" in str(caught.value.hint)
    assert caught.value.exit_code == 6
