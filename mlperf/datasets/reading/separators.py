"""What separates the cells of a table from elsewhere: the one mark by which every row has as many cells as the header."""

from __future__ import annotations

from itertools import islice

from mlperf.core.errors import DataError
from mlperf.datasets.reading.grid import MARKS, csv_rows, first_cells
from mlperf.datasets.reading.source import Source

SAMPLE = 1000
LONGEST_QUOTED = 40
QUOTE_HINT = 'Put every name and cell that contains one of them into double quotes ("a,b";c), or write the file anew with one mark.'


def find_separator(source: Source) -> str:
    """The mark between the cells of a file: comma, semicolon, tab or bar.

    A mark fits where it splits the header, and every row into as many cells. Where none fits, the mark that fits the most rows is
    taken, so that the reader names the row that does not.

    Raises
    ------
    DataError
        Two marks fit; names them.
    """
    wide = {mark: cells for mark in MARKS if len(cells := first_cells(source, mark)) > 1}
    if len(wide) <= 1:
        return next(iter(wide), ",")
    fitting = _fitting(source, list(wide), SAMPLE)
    if len(fitting) > 1:
        fitting = _fitting(source, fitting, None)
    if len(fitting) > 1:
        readings = " or ".join(
            f"{MARKS[mark]}s ({', '.join(repr(cell[:LONGEST_QUOTED]) for cell in wide[mark][:3])})" for mark in fitting
        )
        raise DataError(
            f"got a table that reads as one separated by {readings}, expected one mark that separates",
            place=f"{source.path}, line 1",
            hint=QUOTE_HINT,
        )
    return fitting[0] if fitting else max(wide, key=lambda mark: (_n_fitting_rows(source, mark), len(wide[mark])))


def _fitting(source: Source, marks: list[str], n_rows: int | None) -> list[str]:
    """Marks by which the first rows, or all, have as many cells as the header."""
    return [mark for mark in marks if len(set(_widths(source, mark, n_rows))) == 1]


def _n_fitting_rows(source: Source, mark: str) -> int:
    widths = _widths(source, mark, SAMPLE)
    return sum(width == widths[0] for width in widths[1:])


def _widths(source: Source, mark: str, n_rows: int | None) -> list[int]:
    """Cells of the header and of the rows below it; blank lines left out."""
    try:
        return [len(cells) for _, cells in islice(csv_rows(source, mark), n_rows) if cells]
    except DataError:
        return [0, 1]
