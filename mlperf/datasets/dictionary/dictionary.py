"""The data dictionary as a table for people."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from mlperf.core.shown import Shown, records_frame
from mlperf.datasets.dictionary.column import ALWAYS, Column
from mlperf.datasets.dictionary.contraction_schema import CONTRACTION_TABLES
from mlperf.datasets.dictionary.schema import TABLES, table_schema
from mlperf.datasets.dictionary.server_schema import SERVER_TABLES
from mlperf.datasets.dictionary.synchronous_schema import SYNCHRONOUS_TABLES
from mlperf.datasets.dictionary.trainer_schema import TRAINER_TABLES


@dataclass(frozen=True, slots=True)
class ColumnDescription:
    """One column in words.

    Attributes
    ----------
    table, column, kind, unit : str
        Where it is and what it holds.
    expected : str
        Bounds or choices.
    zero : str
        When a zero is right: ``"never"``, ``"always"``, or the rows.
    empty : str
        Which rows have nothing to say, and what the cell then reads.
    without : str
        What the rows hold where a file has no such column: ``"refused"`` where it must have it.
    doc : str
        What it means.
    """

    table: str
    column: str
    kind: str
    unit: str
    expected: str
    zero: str
    empty: str
    without: str
    doc: str


@dataclass(frozen=True, slots=True, eq=False)
class DataDictionary(Shown):
    """Columns of one or all tables.

    Attributes
    ----------
    columns : tuple of ColumnDescription
        In file order.
    """

    columns: tuple[ColumnDescription, ...]

    def to_frame(self) -> pd.DataFrame:
        """One row per column."""
        return records_frame(ColumnDescription, self.columns)


def describe_columns(table: str | None = None) -> DataDictionary:
    """Every column of a table: kind, unit, bounds, when zero or empty is right, whether a file may lack it, meaning.

    Parameters
    ----------
    table : str, optional
        Name of the table, of a campaign of networks, of a trainer, of canonical benchmarks or of contractions; by default all of a
        campaign of networks.

    Raises
    ------
    UsageError
        No such table.
    """
    others = CONTRACTION_TABLES | TRAINER_TABLES | SYNCHRONOUS_TABLES | SERVER_TABLES
    schemas = tuple(TABLES.values()) if table is None else (others.get(table) or table_schema(table),)
    return DataDictionary(tuple(describe(schema.name, column) for schema in schemas for column in schema.columns))


def describe(table: str, column: Column) -> ColumnDescription:
    """One column in words."""
    return ColumnDescription(
        table=table,
        column=column.name,
        kind=column.kind,
        unit=column.unit,
        expected=column.expected,
        zero=zero_words(column),
        empty="never" if column.absent_when is None else f"{column.absent_text or 'empty'} for {column.absent_when.words}",
        without="refused" if column.default is None else column.default.words,
        doc=column.doc,
    )


def zero_words(column: Column) -> str:
    """When a zero is right."""
    if not column.is_numeric:
        return ""
    if column.zero_when is None:
        return "never"
    return "always" if column.zero_when is ALWAYS else f"for {column.zero_when.words}"
