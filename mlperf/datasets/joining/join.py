"""Measurements joined with feature tables: every key is found exactly once, or the join is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from mlperf.core.errors import UsageError
from mlperf.core.shown import Shown
from mlperf.datasets.campaigns.digest import table_sha256
from mlperf.datasets.joining.join_checks import Table, check_columns, check_matched, check_names, check_once, read_side

KEY = "kernel"
Keys = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class JoinedTable:
    """A feature table as it went into a join: its name, the key columns, and the columns that it brought."""

    table: str
    on: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Joined(Shown):
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

    def to_frame(self) -> pd.DataFrame:
        """The joined rows as a table."""
        return self.frame


def join_tables(
    measurements: Table,
    features: Table | Sequence[Table],
    on: Keys | Sequence[Keys] = KEY,
    *,
    target: str | None = None,
    duplicates: str = "error",
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

    Raises
    ------
    DataError
        Names file, line, column and value: a key that the other side lacks (either side), a key that a feature table has twice,
        a key column that is missing or holds labels here and numbers there, a column that two tables have.
    UsageError
        No feature table, or not one ``on`` for each.
    """
    tables = [features] if isinstance(features, (str, Path, pd.DataFrame)) else list(features)
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
        check_matched(side, left, key)
        brought = tuple(str(name) for name in side.frame.columns if name not in key)
        owner |= dict.fromkeys(brought, side)
        found.append(JoinedTable(side.name, key, brought))
        frame = frame.merge(side.frame, on=list(key), how="left", validate="many_to_one")
    digests = {side.name: table_sha256(side.path) for side in (left, *sides) if side.path is not None}
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
