"""Values against Python's own reading; whole columns against cell by cell."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.datasets import TABLES, read_table
from mlperf.datasets.dictionary.column import Column
from mlperf.datasets.dictionary.numbers import parse_number
from mlperf.datasets.reading.cells import parse_at_once, parse_one_by_one
from mlperf.datasets.reading.grid import read_grid
from mlperf.datasets.reading.source import read_source


@pytest.mark.parametrize("table", list(TABLES))
def test_values_are_those_of_the_csv_module_and_float(table: str, tmp_path: Path, small_texts: dict[str, str]) -> None:
    path = tmp_path / f"{table}.csv"
    path.write_text(small_texts[table], encoding="utf-8")
    frame = read_table(path, table)
    rows = list(csv.DictReader(io.StringIO(small_texts[table])))
    assert list(frame.columns) == list(TABLES[table].names)
    for column in TABLES[table].columns:
        wanted = [row[column.name] for row in rows]
        found = frame[column.name].tolist()
        assert found == ([float(text or 0) for text in wanted] if column.is_numeric else wanted)
        if column.is_numeric:
            assert frame[column.name].dtype == (np.int64 if column.kind == "integer" else np.float64)


@pytest.mark.parametrize("table", list(TABLES))
def test_both_ways_of_parsing_agree(table: str, tmp_path: Path, small_texts: dict[str, str]) -> None:
    path = tmp_path / f"{table}.csv"
    path.write_text(small_texts[table], encoding="utf-8")
    grid = read_grid(read_source(path))
    fast, slow = parse_at_once(grid, TABLES[table].columns), parse_one_by_one(grid, TABLES[table].columns)
    assert fast is not None
    for name, values in slow.values.items():
        assert list(values) == list(fast.values[name])
    for name, empty in slow.empty.items():
        assert list(empty) == list(fast.empty[name])


NUMBER = Column("x", "number", "", "any number", lower=float("-inf"), zero_when=None)
WHOLE = Column("x", "integer", "", "any whole number", lower=float("-inf"))
TEXTS = ["1", "-1", "+1", " 7 ", "1.5", ".5", "5.", "1e3", "1E-3", "-2.5e+10", "007", "9007199254740993", "1e308", "4.9e-324"]
NO_NUMBERS = [
    "",
    " ",
    "x",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "Infinity",
    "1e999",
    "0x10",
    "1_000",
    "1 000",
    "1,5",
    "1.2.3",
    "e5",
    "--1",
    "True",
    "\u0661",
    "1d5",
    "NA",
    "None",
]


def write_cells(tmp_path: Path, texts: list[str]) -> Path:
    path = tmp_path / "x.csv"
    quoted = [f'"{text}"' if "," in text else text for text in texts]
    path.write_text("x,y\n" + "".join(f"{text},1\n" for text in quoted), encoding="utf-8")
    return path


@pytest.mark.parametrize("column", [NUMBER, WHOLE], ids=["number", "whole"])
@pytest.mark.parametrize("text", TEXTS + NO_NUMBERS)
def test_both_ways_agree_on_every_spelling(text: str, column: Column, tmp_path: Path) -> None:
    """What the fast way accepts, the slow way reads as the same number; what the slow way refuses, the fast one does not accept."""
    grid = read_grid(read_source(write_cells(tmp_path, [text, "1"])))
    fast = parse_at_once(grid, [column]) if grid.is_plain else None
    try:
        slow = parse_one_by_one(grid, [column])
    except DataError:
        slow = None
    if fast is not None:
        assert slow is not None
        assert list(fast.values["x"]) == list(slow.values["x"])
    if column is NUMBER:
        assert (slow is not None) == (text in TEXTS)
        assert (parse_number(text) is not None) == (text in TEXTS)


def test_every_digit_is_read(tmp_path: Path) -> None:
    numbers = np.random.default_rng(7).lognormal(-8, 4, 2000)
    path = write_cells(tmp_path, [repr(float(number)) for number in numbers])
    parsed = parse_at_once(read_grid(read_source(path)), [NUMBER])
    assert parsed is not None
    assert np.array_equal(parsed.values["x"], numbers)
