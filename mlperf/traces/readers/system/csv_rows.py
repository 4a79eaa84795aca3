"""Tables of profilers as text: rows by the names of their columns, with the line that each stands on."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlperf.core.errors import DataError
from mlperf.traces.readers.content import not_negative, read_content

LARGEST = 2**62


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table.

    Attributes
    ----------
    values : dict
        By column.
    place : str
        File and line.
    """

    values: dict[str, str]
    place: str

    def text(self, *names: str) -> str:
        """The first of some columns that there is; empty where none is."""
        return next((self.values[name].strip() for name in names if name in self.values), "")

    def number(self, *names: str) -> float:
        """The first of some columns as a number, not negative.

        Raises
        ------
        DataError
            It is none, or no such column is there.
        """
        name = next((name for name in names if name in self.values), None)
        if name is None:
            raise DataError(f"has no column {' or '.join(names)}", place=self.place)
        return not_negative(self.values[name].strip(), f"{self.place}, column {name}", LARGEST)


def read_rows(path: Path, wanted: Sequence[str], hint: str) -> tuple[list[str], list[Row]]:
    """Names of columns, and the rows below them; what stands above the names is skipped.

    Parameters
    ----------
    path : Path
    wanted : sequence of str
        Words that the line of names holds.
    hint : str
        How to make such a file.

    Raises
    ------
    DataError
        No line names these columns, or a row is longer than it.
    """
    lines = read_content(path).decode("utf-8", "replace").splitlines()
    for at, line in enumerate(lines):
        names = [name.strip() for name in _cells(line, f"{path}, line {at + 1}")]
        if set(wanted) <= set(names):
            return names, list(_rows(path, lines, at + 1, names))
    raise DataError(f"has no line that names {', '.join(wanted)}", place=str(path), hint=hint)


def read_tables(path: Path, is_head: Callable[[Sequence[str]], bool]) -> Iterator[tuple[list[str], list[Row]]]:
    """Every table of a file that may hold several: names of columns, and the rows below them up to a blank line or the next names.

    Parameters
    ----------
    path : Path
    is_head : callable
        Whether the cells of a line are names of columns. Lines between tables are skipped.

    Raises
    ------
    DataError
        A row is longer than the names above it.
    """
    names: list[str] = []
    rows: list[Row] = []
    for number, line in enumerate(read_content(path).decode("utf-8", "replace").splitlines(), 1):
        place = f"{path}, line {number}"
        cells = [cell.strip() for cell in _cells(line, place)]
        begins = is_head(cells)
        if names and (begins or not line.strip()):
            yield names, rows
            names, rows = [], []
        if begins:
            names = cells
        elif names and line.strip():
            rows.append(_row(names, cells, place))
    if names:
        yield names, rows


def _rows(path: Path, lines: list[str], first: int, names: list[str]) -> Iterator[Row]:
    """Rows that are not empty."""
    for number, line in enumerate(lines[first:], first + 1):
        if not line.strip() or line.startswith("=="):
            continue
        place = f"{path}, line {number}"
        yield _row(names, _cells(line, place), place)


def _row(names: Sequence[str], cells: Sequence[str], place: str) -> Row:
    """One row; DataError: it is longer than the names of columns."""
    if len(cells) > len(names):
        raise DataError(f"got {len(cells)} columns, expected {len(names)}", place=place)
    return Row(dict(zip(names, cells, strict=False)), place)


def _cells(line: str, place: str) -> list[str]:
    """Cells of a line."""
    try:
        return next(csv.reader([line]), [])
    except csv.Error as error:
        raise DataError(f"is no line of a table ({error})", place=place) from None
