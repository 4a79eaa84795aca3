"""What one column and one table of the data dictionary are: name, kind, unit, bounds, and when a cell may be zero or absent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlperf.core.arrays import BoolArray

Cells = Mapping[str, Any]

UNIT_WORDS = {"s": "seconds", "ms": "milliseconds", "bytes": "bytes"}


@dataclass(frozen=True, slots=True)
class RowRule:
    """A property of a row that decides about one of its cells.

    Attributes
    ----------
    words : str
        What the rule says of such a row, ``"a GEMM"``; stands in error messages and in the dictionary.
    holds : callable
        ``holds(cells)`` with arrays by column name gives a bool array, one entry a row.
    needs : tuple of str
        Columns that ``holds`` reads.
    """

    words: str
    holds: Callable[[Cells], BoolArray]
    needs: tuple[str, ...] = ()


ALWAYS = RowRule("any row", lambda cells: np.ones(len(next(iter(cells.values()))), dtype=bool))


@dataclass(frozen=True, slots=True)
class Default:
    """What a column holds where a file does not have it.

    Attributes
    ----------
    words : str
        What the rows then hold, ``"0"``; stands in the dictionary.
    values : callable
        ``values(n_rows)`` gives the column, shape (n_rows,).
    """

    words: str
    values: Callable[[int], np.ndarray[Any, Any]]


ZERO = Default("0", lambda n_rows: np.zeros(n_rows, dtype=np.int64))
ZERO_SECONDS = Default("0", lambda n_rows: np.zeros(n_rows))
ROW_ORDER = Default("the order of the rows, from 0", lambda n_rows: np.arange(n_rows, dtype=np.int64))
UNKNOWN_WORD = "unknown"
UNTOLD = Default(UNKNOWN_WORD, lambda n_rows: np.full(n_rows, UNKNOWN_WORD, dtype=object))
UNKNOWN = Default("NaN: unknown", lambda n_rows: np.full(n_rows, np.nan))


@dataclass(frozen=True, slots=True)
class Column:
    """One column: one row of the data dictionary.

    Attributes
    ----------
    name : str
        Header; a unit is its suffix.
    kind : str
        ``"integer"``, ``"number"`` or ``"text"``.
    unit : str
        ``"s"``, ``"bytes"``, a counted thing, or empty.
    doc : str
        One line for people.
    lower, upper : float
        Bounds of a number; ``lower`` is inclusive, and a zero needs ``zero_when`` besides.
    zero_when : RowRule or None
        Rows in which a zero is right; None: in no row.
    absent_when : RowRule or None
        Rows in which there is nothing to write: the cell then reads ``absent_text``, the frame holds 0 or ``""``.
    absent_text : str
        Empty, or ``"0"`` for counts.
    choices : tuple of str
        The only texts allowed; empty: any text but an empty one.
    default : Default or None
        What the rows hold where the file has no such column; None: every file has it.
    """

    name: str
    kind: str
    unit: str
    doc: str
    lower: float = 0.0
    upper: float = float("inf")
    zero_when: RowRule | None = None
    absent_when: RowRule | None = None
    absent_text: str = ""
    choices: tuple[str, ...] = ()
    default: Default | None = None

    @property
    def is_numeric(self) -> bool:
        """Whether cells are numbers."""
        return self.kind != "text"

    @property
    def expected(self) -> str:
        """What a cell should be, in the words of an error message: ``"seconds > 0"``."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.kind == "text":
            return "a name"
        noun = UNIT_WORDS.get(self.unit, "an integer" if self.kind == "integer" else "a number")
        if self.upper < float("inf"):
            return f"{noun} from {self.lower:g} to {self.upper:g}"
        if self.zero_when is not None or self.lower > 0:
            return f"{noun} >= {self.lower:g}"
        return f"{noun} > 0"

    @property
    def stem(self) -> str:
        """The name without its unit suffix."""
        return self.name.removesuffix(f"_{self.unit}") if self.unit else self.name


@dataclass(frozen=True, slots=True)
class TableSchema:
    """One file of a campaign.

    Attributes
    ----------
    name : str
        File name without ``.csv`` or ``.csv.gz``.
    doc : str
        One line for people.
    columns : tuple of Column
        In file order.
    key : tuple of str
        Rows equal in these columns are repeats of one measurement and stay in one fold.
    groups : str
        Column by which rows are left out together in cross-validation; empty where ``key`` is the only grouping.
    examples : tuple of tuple
        Rows of the template, as cells.
    folder : str
        Folder inside the campaign that holds the file; empty: the campaign itself.
    """

    name: str
    doc: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    groups: str = ""
    examples: tuple[tuple[str, ...], ...] = ()
    folder: str = ""

    @property
    def stem(self) -> str:
        """Where the file lies inside a campaign, without its ending: ``"asgd/details"``."""
        return f"{self.folder}/{self.name}" if self.folder else self.name

    @property
    def names(self) -> tuple[str, ...]:
        """Header of the file."""
        return tuple(column.name for column in self.columns)

    @property
    def required(self) -> tuple[str, ...]:
        """Columns that every file has."""
        return tuple(column.name for column in self.columns if column.default is None)

    @property
    def optional(self) -> dict[str, Default]:
        """Columns that a file may leave out, and what its rows then hold."""
        return {column.name: column.default for column in self.columns if column.default is not None}

    @property
    def untold(self) -> tuple[str, ...]:
        """Columns of text that earlier versions did not write; they read ``unknown`` where a file lacks them."""
        return tuple(column.name for column in self.columns if column.default is UNTOLD)

    def __getitem__(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)
