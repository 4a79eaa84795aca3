"""The lines and cells of a CSV file, before anybody asks what they mean."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError
from mlperf.datasets.reading.source import Source

RAGGED_HINT = "Every row has as many cells as the header: look for a {mark} too many, a missing one, or a line that was cut off."
QUOTE_HINT = "A quotation mark opens a cell and closes it; inside, it is doubled."
ABOVE_HINT = "The first line names the columns: remove what stands above them."
DECIMAL_HINT = " Numbers with decimal commas need semicolons or tabs between the cells."
MARKS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
QUOTE, RETURN = b'"', b"\r"
MOST_NAMED = 3
PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])
# From 3.1 on pandas reads every digit by itself and warns of the option.
EVERY_DIGIT: dict[str, Any] = {} if PANDAS >= (3, 1) else {"float_precision": "round_trip"}


@dataclass(frozen=True, slots=True)
class Grid:
    """A rectangular table of texts: every row has ``len(header)`` cells.

    Attributes
    ----------
    source : Source
        The file.
    header : tuple of str
        Column names, distinct and not empty.
    n_rows : int
        Rows below the header.
    is_plain : bool
        No cell is quoted, so that row i stands on line i + 2 and a separator always separates.
    separator : str
        What stands between two cells.
    """

    source: Source
    header: tuple[str, ...]
    n_rows: int
    is_plain: bool
    separator: str = ","

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Line number of its last line and cells of each row below the header."""
        rows = csv_rows(self.source, self.separator)
        next(rows)
        yield from rows

    def cell(self, row: int, column: str) -> tuple[int, str]:
        """Line number and text of one cell; ``row`` counts from 0."""
        for index, (line, cells) in enumerate(self.records()):
            if index == row:
                return line, cells[self.header.index(column)]
        raise IndexError(row)

    def where(self, rows: Sequence[int]) -> str:
        """Lines of rows (from 0, rising), the first few by number: ``"lines 3, 7, 9 and 4 more"``."""
        named = list(rows[:MOST_NAMED])
        if self.is_plain:
            return listed("line", [row + 2 for row in named], len(rows))
        found = [line for row, (line, _) in zip(range(named[-1] + 1), self.records(), strict=False) if row in named]
        return listed("line", found, len(rows))

    def texts(self, names: Sequence[str], n_first: int | None = None) -> dict[str, pd.Series[Any]]:
        """Cells of the named columns as texts, of all rows or of the first ones."""
        frame = self._parsed(names, n_first, dtype=str)
        if len(frame) == (self.n_rows if n_first is None else min(n_first, self.n_rows)):
            return {name: frame[name] for name in names}
        # pandas and the csv module disagree about where rows end; what was checked is what the csv module sees.
        rows = [cells for _, (_, cells) in zip(range(n_first or self.n_rows), self.records(), strict=False)]
        places = {name: self.header.index(name) for name in names}
        return {name: pd.Series([cells[index] for cells in rows], name=name, dtype="str") for name, index in places.items()}

    def numbers(self, names: Sequence[str], decimal: str = ".") -> dict[str, np.ndarray[Any, Any]]:
        """Those of the named columns that hold finite numbers and nothing else, int64 where all are written as whole ones."""
        frame = self._parsed(names, None, decimal=decimal, low_memory=False, **EVERY_DIGIT)
        if len(frame) != self.n_rows:
            return {}
        columns = {str(name): frame[name].to_numpy() for name in frame if frame[name].dtype.kind in "if"}
        return {name: values for name, values in columns.items() if np.isfinite(values).all()}

    def _parsed(self, names: Sequence[str], n_rows: int | None, **options: Any) -> pd.DataFrame:
        """The named columns as pandas reads them."""
        places = sorted(self.header.index(name) for name in names)
        frame: pd.DataFrame = pd.read_csv(
            io.BytesIO(self.source.data),
            sep=self.separator,
            usecols=places,
            nrows=n_rows,
            na_filter=False,
            skip_blank_lines=False,
            index_col=False,
            encoding="utf-8",
            **options,
        )
        frame.columns = pd.Index([self.header[place] for place in places])
        return frame

    def error(self, row: int, column: str, expected: str, hint: str) -> DataError:
        """The error for a cell that is not what it should be."""
        line, text = self.cell(row, column)
        return cell_error(self.source, line, column, text, expected, hint)


def listed(word: str, numbers: Sequence[int], n_all: int) -> str:
    """The first of some numbered things: ``"line 3"``, ``"lines 3, 7, 9 and 4 more"``."""
    more = f" and {n_all - len(numbers):,} more" if n_all > len(numbers) else ""
    return f"{word}{'s' if n_all > 1 else ''} {', '.join(map(str, numbers))}{more}"


def cell_error(source: Source, line: int, column: str, text: str, expected: str, hint: str) -> DataError:
    """File, line, column, value, expectation and hint in the house's words."""
    got = repr(text) if text.strip() else "an empty cell"
    return DataError(f"got {got}, expected {expected}", place=f"{source.path}, line {line}, column {column}", hint=hint)


def csv_rows(source: Source, separator: str = ",", *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Number of its last line and cells of every row of a file, the header's first, by the rules of quoting.

    Raises
    ------
    DataError
        While iterating: a quotation that never ends (with ``strict``), or a cell longer than Python's reader takes.
    """
    reader = csv.reader(source.lines(), delimiter=separator, strict=strict)
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        raise DataError(f"is no CSV ({error})", place=f"{source.path}, line {reader.line_num}", hint=QUOTE_HINT) from error


def read_grid(source: Source) -> Grid:
    """Split a file of ours into header and rows.

    Raises
    ------
    DataError
        A column name is empty or stands twice, there are no rows, or a row has too many or too few cells.
    """
    header = first_cells(source)
    check_names(source, header)
    return grid_of(source, header)


def first_cells(source: Source, separator: str = ",") -> tuple[str, ...]:
    """Cells of the first line."""
    _, cells = next(csv_rows(source, separator), (1, []))
    return tuple(cells)


def grid_of(source: Source, header: tuple[str, ...], separator: str = ",") -> Grid:
    """The rows below a header that has been found right.

    Raises
    ------
    DataError
        There are no rows, or one has too many or too few cells.
    """
    is_plain = QUOTE not in source.data and RETURN not in source.data.replace(b"\r\n", b"\n")
    widths = plain_widths(source.data, separator) if is_plain else quoted_widths(source, separator)
    if len(widths) == 0:
        raise DataError(
            "got a header and no rows",
            place=f"{source.path}, line 2",
            hint="A table without measurements teaches nothing: leave it out.",
        )
    wrong = np.flatnonzero(widths != len(header))
    if len(wrong):
        raise ragged(source, header, int(wrong[0]), separator)
    return Grid(source, header, len(widths), is_plain, separator)


def check_names(source: Source, header: tuple[str, ...]) -> None:
    """Check that every column has a name of its own.

    Raises
    ------
    DataError
        Names the second of two equal ones, or the place of an empty one.
    """
    if not header:
        hint = "The first line names every column, separated by commas."
        raise DataError("got a blank line, expected column names", place=f"{source.path}, line 1, column 1", hint=hint)
    for index, name in enumerate(header):
        place = f"{source.path}, line 1, column {name.strip() or index + 1}"
        if not name.strip():
            raise DataError("got an empty column name", place=place, hint="The first line names every column, separated by commas.")
        if name in header[:index]:
            raise DataError(
                f"got {name!r} twice, expected distinct column names", place=place, hint="Rename or remove one of the two."
            )


def plain_widths(data: bytes, separator: str = ",") -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Cells in each line below the header of a file without quotes; 0 for a blank line."""
    characters = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))
    if not data.endswith(b"\n"):
        ends = np.append(ends, len(data))
    starts = np.concatenate(([0], ends[:-1] + 1))
    marks = np.searchsorted(np.flatnonzero(characters == ord(separator)), ends)
    widths = np.diff(marks, prepend=0) + 1
    blank = (ends - starts == 0) | ((ends - starts == 1) & (characters[np.minimum(starts, len(data) - 1)] == ord("\r")))
    widths[blank] = 0
    return np.asarray(widths[1:], dtype=np.int64)


def quoted_widths(source: Source, separator: str = ",") -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Cells in each row below the header, by the rules of quoting."""
    return np.fromiter((len(cells) for _, cells in csv_rows(source, separator, strict=True)), dtype=np.int64)[1:]


def ragged(source: Source, header: tuple[str, ...], row: int, separator: str = ",") -> DataError:
    """The error for row number ``row`` (from 0) below the header."""
    line, cells = next(islice(csv_rows(source, separator), row + 1, None))
    place = f"{source.path}, line {line}"
    if not cells:
        hint = ABOVE_HINT if row == 0 and len(header) == 1 else "Remove the line."
        return DataError("got a blank line, expected a row", place=f"{place}, column {header[0]}", hint=hint)
    got = f"got {len(cells)} cells, expected {len(header)}"
    hint = ABOVE_HINT if header[0].startswith("#") else RAGGED_HINT.format(mark=MARKS[separator])
    if len(cells) < len(header):
        return DataError(f"{got}: the row ends after {cells[-1]!r}", place=f"{place}, column {header[len(cells)]}", hint=hint)
    surplus = f"{cells[len(header)]!r} belongs to no column"
    other = [each for mark, each in MARKS.items() if mark != separator and mark in header[0]]
    if len(header) == 1 and other:
        hint = f"Cells are separated by {MARKS[separator]}s, here by {other[0]}s; numbers have a decimal point."
        return DataError(f"{got}: {surplus}", place=f"{place}, column number 2", hint=hint)
    decimal = DECIMAL_HINT if separator == "," else ""
    return DataError(f"{got}: {surplus}", place=f"{place}, column number {len(header) + 1}", hint=hint + decimal)
