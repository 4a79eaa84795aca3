"""What must hold before two tables are joined, and where in their files it does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError
from mlperf.core.suggest import did_you_mean
from mlperf.datasets.reading.any_table import read_any_table
from mlperf.datasets.reading.grid import read_grid
from mlperf.datasets.reading.source import read_source

Table = pd.DataFrame | str | Path


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One table of a join: its name for messages, its rows, and its file where it has one."""

    name: str
    frame: pd.DataFrame
    path: Path | None

    def place(self, row: int, key: Sequence[str]) -> str:
        """Where a row's key stands: file and line, or the number of the row in a frame."""
        values = self.frame[list(key)].iloc[row].tolist()
        if self.path is None:
            return f"{self.name}, row {row}, column {key[0]}"
        same = (self.frame[list(key)].iloc[:row] == values).all(axis=1).sum()
        lines = matching_lines(self.path, key, values)
        line = next(line for number, line in enumerate(lines) if number == same)
        return f"{self.path}, line {line}, column {key[0]}"

    def header_place(self, column: str) -> str:
        """Where a column's name stands, or should stand."""
        return f"{self.name}, column {column}" if self.path is None else f"{self.path}, line 1, column {column}"


def read_side(table: Table, name: str, duplicates: str, target: str | None = None) -> Side:
    """A table of a join, read strictly where it is a file."""
    if isinstance(table, pd.DataFrame):
        return Side(name, table.reset_index(drop=True), None)
    path = Path(table)
    return Side(path.name, read_any_table(path, target=target, duplicates=duplicates), path)


def matching_lines(path: Path, key: Sequence[str], values: Sequence[Any]) -> Iterator[int]:
    """Line numbers of the rows that hold a key, from the top."""
    grid = read_grid(read_source(path))
    places = [grid.header.index(name) for name in key]
    for line, cells in grid.records():
        if all(is_same(cells[place], value) for place, value in zip(places, values, strict=True)):
            yield line


def is_same(text: str, value: Any) -> bool:
    """Whether a cell holds a value that was read from it."""
    if isinstance(value, str):
        return text == value
    try:
        return float(text) == float(value)
    except ValueError:
        return False


def check_columns(left: Side, right: Side, key: Sequence[str]) -> None:
    """Both sides have the key's columns, of one kind."""
    for name in key:
        for side in (left, right):
            if name not in side.frame.columns:
                raise DataError(
                    f"is missing: got {', '.join(map(str, side.frame.columns))}, expected the key column {name!r}",
                    place=side.header_place(name),
                    hint=did_you_mean(name, [str(column) for column in side.frame.columns]),
                )
        kinds = [pd.api.types.is_numeric_dtype(side.frame[name]) for side in (left, right)]
        if kinds[0] != kinds[1]:
            words = ["numbers" if kind else "labels" for kind in kinds]
            raise DataError(
                f"got {words[1]}, for example {right.frame[name].tolist()[0]!r}, expected {words[0]} as in {left.name}",
                place=right.place(0, [name]),
                hint="Write the key the same way on both sides.",
            )


def check_names(side: Side, key: Sequence[str], owner: Mapping[Any, Side]) -> None:
    """No column apart from the key has a name that another table has."""
    for name in side.frame.columns:
        if name in owner and name not in key:
            alike = set(side.frame[name]) == set(owner[name].frame[name])
            advice = f", or make it part of the key (--on {','.join((*key, str(name)))})" if alike else ""
            raise DataError(
                f"got {name!r}, which {owner[name].name} has too, expected columns of different names",
                place=side.header_place(str(name)),
                hint=f"Rename one of the two{advice}.",
            )


def check_once(side: Side, key: Sequence[str]) -> None:
    """Every key stands once."""
    again = np.flatnonzero(side.frame.duplicated(list(key)).to_numpy())
    if len(again):
        row = int(again[0])
        first = int(np.flatnonzero((side.frame[list(key)] == side.frame[list(key)].iloc[row]).all(axis=1))[0])
        raise DataError(
            f"got {key_text(side, row, key)} a second time (first at {side.place(first, key)}), expected every key once",
            place=side.place(row, key),
            hint="Keep one row a key, or add the columns that tell them apart to the key (--on).",
        )


def check_matched(side: Side, other: Side, key: Sequence[str]) -> None:
    """Every key of ``side`` stands in ``other``."""
    known = pd.MultiIndex.from_frame(other.frame[list(key)])
    lost = np.flatnonzero(~pd.MultiIndex.from_frame(side.frame[list(key)]).isin(known))
    if not len(lost):
        return
    row = int(lost[0])
    n_keys = len(side.frame[list(key)].iloc[lost].drop_duplicates())
    others = f" (and {n_keys - 1} more keys)" if n_keys > 1 else ""
    raise DataError(
        f"got {key_text(side, row, key)}{others}, expected a key that {other.name} has too",
        place=side.place(row, key),
        hint=f"{nearest_text(side, other, row, key)}Measure it, describe it, or remove the row: no row is left out silently.",
    )


def nearest_text(side: Side, other: Side, row: int, key: Sequence[str]) -> str:
    """A name of the other table that is meant; nothing where all names are known and only their combination is not."""
    for column in key:
        value, known = side.frame[column].iloc[row], set(other.frame[column])
        near = get_close_matches(value, known, n=1) if isinstance(value, str) and value not in known else []
        if near:
            return f"Did you mean {near[0]!r}? "
    return ""


def key_text(side: Side, row: int, key: Sequence[str]) -> str:
    """A row's key in words: ``kernel 'ij-jk-ki', n 100``."""
    values = [side.frame[name].tolist()[row] for name in key]
    return ", ".join(f"{name} {value!r}" for name, value in zip(key, values, strict=True))
