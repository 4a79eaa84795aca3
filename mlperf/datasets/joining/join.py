"""Measurements joined with feature tables: every key is found exactly once, or the join is refused and says where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.errors import PATH, DataError, UsageError, check_type
from mlperf.core.shown import Shown
from mlperf.core.suggest import nearest, nearest_hint
from mlperf.datasets.reading.any_table import read_any_table
from mlperf.datasets.reading.foreign import open_table
from mlperf.datasets.reading.inference import together_hint
from mlperf.datasets.reading.source import STANDARD_INPUT, is_standard_input

Table = pd.DataFrame | str | Path
FRAME_OR_FILE = "a DataFrame or a file"


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One table of a join: its name for messages, its rows, its file where it can be read again, and what was read's SHA-256.

    ``renamed`` tells names of the rows to those that the file has for them, where they differ.
    """

    name: str
    frame: pd.DataFrame
    path: Path | None = None
    sha256: str = ""
    renamed: Mapping[str, str] = field(default_factory=dict)

    def place(self, row: int, key: Sequence[str]) -> str:
        """Where a row's key stands: file and line, or the number of the row in a frame."""
        column = self.renamed.get(key[0], key[0])
        if self.path is None:
            return f"{self.name}, row {row + 1}, column {column}"
        first = self.frame.attrs.get("first_line")
        if first is not None:
            return f"{self.path}, line {first + row}, column {column}"
        values = self.frame[list(key)].iloc[row].tolist()
        same = (self.frame[list(key)].iloc[:row] == values).all(axis=1).sum()
        names = [self.renamed.get(name, name) for name in key]
        return f"{self.path}, {matching_place(self.path, names, values, int(same))}, column {column}"

    def header_place(self, column: str) -> str:
        """Where a column's name stands, or should stand."""
        column = self.renamed.get(column, column)
        return f"{self.name}, column {column}" if self.path is None else f"{self.path}, line 1, column {column}"


def read_side(table: Table, name: str, duplicates: str, target: str | None = None, others: str | None = None) -> Side:
    """A table of a join, read strictly where it is a file; ``others`` as `mlperf.datasets.reading.any_table.read_any_table`."""
    if isinstance(table, pd.DataFrame):
        return Side(name, table.reset_index(drop=True))
    check_type(table, PATH, name, FRAME_OR_FILE)
    path = Path(table)
    try:
        frame = read_any_table(path, target=target, duplicates=duplicates, others=others)
    except DataError as error:
        raise DataError(error.message, place=error.place, hint=together_hint(error.hint or "")) from error
    # The standard input cannot be read again for the line of an error.
    again = None if is_standard_input(path) else path
    return Side(path.name if again else str(STANDARD_INPUT), frame, again, frame.attrs["sha256"])


def matching_place(path: Path, key: Sequence[str], values: Sequence[Any], n_before: int) -> str:
    """Line of a row that holds a key, with so many such rows above it."""
    cells = open_table(path).cells
    columns = [cells.texts([name])[name] for name in key]
    rows = (
        row
        for row, texts in enumerate(zip(*columns, strict=True))
        if all(is_same(text, value) for text, value in zip(texts, values, strict=True))
    )
    return cells.where([next(islice(rows, n_before, None))])


def is_same(text: str, value: Any) -> bool:
    """Whether a cell holds a value that was read from it."""
    if isinstance(value, str):
        return text.strip() == value
    try:
        return float(text.replace(",", ".")) == float(value)
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
                    hint=nearest_hint(name, [str(column) for column in side.frame.columns]) or "--on names the columns of the key.",
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
        near = nearest(value, sorted(map(str, known))) if isinstance(value, str) and value not in known else None
        if near is not None:
            case = " Upper and lower case tell names apart." if near.lower() == value.lower() else ""
            return f"Did you mean {near!r}?{case} "
    return ""


def key_text(side: Side, row: int, key: Sequence[str]) -> str:
    """A row's key in words: ``kernel 'ij-jk-ki', n 100``."""
    values = [side.frame[name].tolist()[row] for name in key]
    return ", ".join(f"{name} {value!r}" for name, value in zip(key, values, strict=True))


KEY = "kernel"
Keys = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class JoinedTable:
    """A feature table as it went into a join: its name, the key columns, and the columns that it brought."""

    table: str
    on: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Joined(Shown, frame="frame"):
    """Measurements with the features of what was measured.

    Attributes
    ----------
    frame : DataFrame, shape (n_rows, ...)
        Rows and columns of the measurements in their order, then the columns of every feature table.
    tables : tuple of JoinedTable
        Where the further columns came from.
    data_sha256 : mapping
        Name to SHA-256 of every file that was read.
    """

    frame: pd.DataFrame
    tables: tuple[JoinedTable, ...]
    data_sha256: Mapping[str, str]

    @property
    def features(self) -> tuple[str, ...]:
        """Columns that the feature tables brought."""
        return tuple(name for table in self.tables for name in table.columns)


def join_tables(
    measurements: Table,
    features: Table | Sequence[Table],
    on: Keys | Sequence[Keys] = KEY,
    *,
    target: str | None = None,
    duplicates: str = "error",
    spare: bool = False,
) -> Joined:
    """Join measurements with one or several feature tables.

    Parameters
    ----------
    measurements : DataFrame or path
        Any table; a key may stand in many rows.
    features : DataFrame, path, or a sequence of them
        One row a key, as `mlperf.features.write_features` writes it.
    on : str, sequence of str, or one such entry for each feature table
        Key columns. A list of texts is one key of several columns; a list of lists gives each table its own.
    target : str, optional
        Column of the measurements that must be numbers > 0.
    duplicates : str
        ``keep``, ``drop`` or ``error`` for fully identical rows of a file of measurements.
    spare : bool
        Whether a feature table may have keys that the measurements lack, as one that describes more than is asked.

    Raises
    ------
    DataError
        Names file, line, column and value: a key that the other side lacks (either side), a key that a feature table has twice,
        a key column that is missing or holds labels here and numbers there, a column that two tables have.
    UsageError
        No feature table, or not one ``on`` for each.
    """
    check_type(features, (*PATH, pd.DataFrame, Iterable), "features", FRAME_OR_FILE + ", or several")
    tables = [features] if isinstance(features, (*PATH, pd.DataFrame)) else list(features)
    keys = _keys_of_each(on, len(tables))
    left = read_side(measurements, "measurements", duplicates, target)
    sides = [read_side(table, f"feature table {number}", "keep") for number, table in enumerate(tables, 1)]
    frame, found = left.frame, []
    owner = dict.fromkeys(left.frame.columns, left)
    for side, key in zip(sides, keys, strict=True):
        check_columns(left, side, key)
        check_names(side, key, owner)
        check_once(side, key)
        check_matched(left, side, key)
        if not spare:
            check_matched(side, left, key)
        brought = tuple(str(name) for name in side.frame.columns if name not in key)
        owner |= dict.fromkeys(brought, side)
        found.append(JoinedTable(side.name, key, brought))
        frame = frame.merge(side.frame, on=list(key), how="left", validate="many_to_one")
    digests = {side.name: side.sha256 for side in (left, *sides) if side.sha256}
    return Joined(frame, tuple(found), digests)


def _keys_of_each(on: Keys | Sequence[Keys], n_tables: int) -> list[tuple[str, ...]]:
    """The key columns of each feature table; UsageError: no table, no key, or not one for each."""
    if n_tables == 0:
        raise UsageError("got no feature table to join", hint="Name one, for example --join counts.csv.")
    if isinstance(on, str) or all(isinstance(name, str) for name in on):
        entries: list[Keys] = [on] * n_tables  # type: ignore[list-item]
    else:
        entries = list(on) * (n_tables if len(on) == 1 else 1)
    keys = [(entry,) if isinstance(entry, str) else tuple(entry) for entry in entries]
    if len(keys) != n_tables or not all(keys):
        raise UsageError(
            f"got {len(keys)} keys for {n_tables} feature tables, expected one for all or one for each",
            hint="For example --join a.csv --on kernel --join b.csv --on kernel,build.",
        )
    return keys
