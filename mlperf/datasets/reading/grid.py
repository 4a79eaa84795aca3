"""The lines and cells of a CSV file, before anybody asks what they mean."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mlperf.core.errors import DataError
from mlperf.datasets.reading.source import Source

RAGGED_HINT = "Every row has as many cells as the header: look for a comma too many, a missing one, or a line that was cut off."
QUOTE, RETURN = b'"', b"\r"


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
        No cell is quoted, so that row i stands on line i + 2 and a comma always separates.
    """

    source: Source
    header: tuple[str, ...]
    n_rows: int
    is_plain: bool

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Line number of its last line and cells of each row below the header."""
        reader = csv.reader(io.StringIO(self.source.text, newline=""))
        next(reader)
        for cells in reader:
            yield reader.line_num, cells

    def cell(self, row: int, column: str) -> tuple[int, str]:
        """Line number and text of one cell; ``row`` counts from 0."""
        for index, (line, cells) in enumerate(self.records()):
            if index == row:
                return line, cells[self.header.index(column)]
        raise IndexError(row)

    def error(self, row: int, column: str, expected: str, hint: str) -> DataError:
        """The error for a cell that is not what it should be."""
        line, text = self.cell(row, column)
        return cell_error(self.source, line, column, text, expected, hint)


def cell_error(source: Source, line: int, column: str, text: str, expected: str, hint: str) -> DataError:
    """File, line, column, value, expectation and hint in the house's words."""
    got = repr(text) if text.strip() else "an empty cell"
    return DataError(f"got {got}, expected {expected}", place=f"{source.path}, line {line}, column {column}", hint=hint)


def read_grid(source: Source) -> Grid:
    """Split a file into header and rows.

    Raises
    ------
    DataError
        A column name is empty or stands twice, there are no rows, or a row has too many or too few cells.
    """
    header = tuple(next(csv.reader(io.StringIO(source.text, newline="")), []))
    check_names(source, header)
    is_plain = QUOTE not in source.data and RETURN not in source.data.replace(b"\r\n", b"\n")
    widths = plain_widths(source.data) if is_plain else quoted_widths(source)
    if len(widths) == 0:
        raise DataError(
            "got a header and no rows",
            place=f"{source.path}, line 2",
            hint="A table without measurements teaches nothing: leave it out.",
        )
    wrong = np.flatnonzero(widths != len(header))
    if len(wrong):
        raise ragged(source, header, int(wrong[0]))
    return Grid(source, header, len(widths), is_plain)


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


def plain_widths(data: bytes) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Cells in each line below the header of a file without quotes; 0 for a blank line."""
    characters = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))
    if not data.endswith(b"\n"):
        ends = np.append(ends, len(data))
    starts = np.concatenate(([0], ends[:-1] + 1))
    commas = np.searchsorted(np.flatnonzero(characters == ord(",")), ends)
    widths = np.diff(commas, prepend=0) + 1
    blank = (ends - starts == 0) | ((ends - starts == 1) & (characters[np.minimum(starts, len(data) - 1)] == ord("\r")))
    widths[blank] = 0
    return np.asarray(widths[1:], dtype=np.int64)


def quoted_widths(source: Source) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Cells in each row below the header, by the rules of quoting."""
    reader = csv.reader(io.StringIO(source.text, newline=""), strict=True)
    try:
        return np.array([len(cells) for cells in reader][1:], dtype=np.int64)
    except csv.Error as error:
        hint = "A quotation mark opens a cell and closes it; inside, it is doubled."
        raise DataError(f"is no CSV ({error})", place=f"{source.path}, line {reader.line_num}", hint=hint) from error


def ragged(source: Source, header: tuple[str, ...], row: int) -> DataError:
    """The error for row number ``row`` (from 0) below the header."""
    reader = csv.reader(io.StringIO(source.text, newline=""))
    for _ in range(row + 2):
        cells = next(reader)
    place = f"{source.path}, line {reader.line_num}"
    if not cells:
        return DataError("got a blank line, expected a row", place=f"{place}, column {header[0]}", hint="Remove the line.")
    got = f"got {len(cells)} cells, expected {len(header)}"
    if len(cells) < len(header):
        return DataError(
            f"{got}: the row ends after {cells[-1]!r}", place=f"{place}, column {header[len(cells)]}", hint=RAGGED_HINT
        )
    surplus = cells[len(header)]
    return DataError(
        f"{got}: {surplus!r} belongs to no column", place=f"{place}, column number {len(header) + 1}", hint=RAGGED_HINT
    )
