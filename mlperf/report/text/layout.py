"""How a table is laid out in a given width: no number and no word is ever broken."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlperf.report.text.tables import Column

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

SENTENCE_WIDTH = 64
"""Of a column of sentences where there is room."""
LEAST_SENTENCE_WIDTH = 18
MOST_HEADING_LINES = 3
GAP, NARROW_GAP = 3, 2
"""Spaces between two columns: where there is room, and where there is not."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What of a table is shown in a width, and how.

    Attributes
    ----------
    columns : tuple of Column
        Those that are shown.
    widths : tuple of int or None
        Of each column; None where the rows become blocks of one line a column.
    gap : int
        Spaces between two columns.
    hidden : tuple of str
        Headings of the columns that are not shown.
    """

    columns: tuple[Column, ...]
    widths: tuple[int, ...] | None
    gap: int = GAP
    hidden: tuple[str, ...] = ()


def places_of(secondary: Sequence[str | Sequence[str]], names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Places, among the ``names`` of a table's columns, of those that may be left out; unknown names are passed over."""
    together = [(part,) if isinstance(part, str) else part for part in secondary]
    places = [tuple(names.index(name) for name in part if name in names) for part in together]
    return tuple(part for part in places if part)


def lay_out(columns: Sequence[Column], secondary: Sequence[Sequence[int]], width: int) -> Layout:
    """Choose columns and their widths.

    Parameters
    ----------
    columns : sequence of Column
        Of the whole table.
    secondary : sequence of sequences of int
        Places of the columns that may be left out, the first to go first; those of one sequence go together.
    width : int
        Characters of a line.

    Returns
    -------
    Layout
        As many columns as fit; rows as blocks where not even those fit that are not secondary.
    """
    roomy = fitting_widths(columns, width, GAP)
    if roomy is not None:
        return Layout(tuple(columns), roomy)
    gone: set[int] = set()
    for places in ((), *secondary):
        gone.update(places)
        shown = tuple(column for number, column in enumerate(columns) if number not in gone)
        widths = fitting_widths(shown, width, NARROW_GAP)
        if widths is not None:
            break
    return Layout(shown, widths, NARROW_GAP, tuple(columns[number].heading for number in sorted(gone)))


def fitting_widths(columns: Sequence[Column], width: int, gap: int) -> tuple[int, ...] | None:
    """Width of each column so that the table takes at most ``width``; None where it cannot.

    Headings take up to three lines and sentences break between words; all else stays on one line.
    """
    widths = [least_width(column) for column in columns]
    spare = width - sum(widths) - gap * (len(columns) - 1)
    if spare < 0:
        return None
    # Sentences get room first: a heading on two lines costs one line, a sentence on two lines costs one in its row.
    for place in sorted(range(len(columns)), key=lambda place: not wraps(columns[place])):
        wider = min(spare, full_width(columns[place]) - widths[place])
        widths[place] += wider
        spare -= wider
    return tuple(widths)


def wraps(column: Column) -> bool:
    """Whether cells may break between words: sentences, not numbers with their units, not names."""
    return not column.is_number and any(len(cell) > LEAST_SENTENCE_WIDTH and " " in cell for cell in column.cells)


def least_width(column: Column) -> int:
    """Least width of a column in which no word is broken."""
    if not wraps(column):
        return max(heading_width(column.heading), longest(column.cells))
    words = longest(word for cell in column.cells for word in cell.split())
    return max(heading_width(column.heading), words, LEAST_SENTENCE_WIDTH)


def full_width(column: Column) -> int:
    """Width of a column where there is room."""
    least = least_width(column)
    whole = longest((column.heading, *column.cells))
    return max(least, min(whole, SENTENCE_WIDTH)) if wraps(column) else max(least, whole)


def heading_width(heading: str) -> int:
    """Least width in which a heading takes few lines and no word of it is broken."""
    width = longest(heading.split())
    while len(textwrap.wrap(heading, max(1, width), break_on_hyphens=False)) > MOST_HEADING_LINES:
        width += 1
    return width


def longest(texts: Iterable[str]) -> int:
    """Cells that the longest text takes on a terminal; 0 of none."""
    from rich.cells import cell_len

    return max((cell_len(text) for text in texts), default=0)


def renderables(layout: Layout, console: Console) -> Iterator[Text]:
    """The table, or its rows as blocks, and what is not shown."""
    from rich.text import Text

    width = console.width
    yield block_text(layout.columns, width) if layout.widths is None else table(layout, layout.widths, console)
    if layout.hidden:
        yield Text(wrapped(f"not shown: {', '.join(layout.hidden)}; -v or --json shows all", width))


def wrapped(text: str, width: int) -> str:
    """Text whose lines are broken between words where they are wider than ``width``; each goes on with its own indentation."""
    return "\n".join(part for line in text.split("\n") for part in line_parts(line, width))


def line_parts(line: str, width: int) -> list[str]:
    """The parts of one line; a word that is wider than ``width`` stays whole."""
    if longest([line]) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(
        line, max(width, len(indent) + 1), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def table(layout: Layout, widths: Sequence[int], console: Console) -> Text:
    """Columns of given widths beside each other, the headings above a line; cells are no markup."""
    from rich.text import Text

    # What is laid out already is put together here: rich's own table takes ten times as long.
    between, shown = " " * layout.gap, tuple(zip(layout.columns, widths, strict=True))
    headings = [cell_parts(column.heading, column, width, console) for column, width in shown]
    above = max(map(len, headings), default=0)
    raised = [[" " * width] * (above - len(parts)) + parts for parts, (_, width) in zip(headings, shown, strict=True)]
    made = Text("\n".join(map(between.join, zip(*raised, strict=True))), style="bold", no_wrap=True, overflow="ignore")
    rule = "─" * (sum(widths) + layout.gap * (len(widths) - 1))
    cells = [[cell_parts(cell, column, width, console) for cell in column.cells] for column, width in shown]
    lines = [rule, *(between.join(line) for row in zip(*cells, strict=True) for line in side_by_side(row, widths))]
    return Text("\n", no_wrap=True, overflow="ignore").join([made, Text("\n".join(lines))])


def side_by_side(row: Sequence[list[str]], widths: Sequence[int]) -> Iterator[tuple[str, ...]]:
    """Lines of the cells of a row; a cell with fewer lines than others is blank below."""
    height = max(map(len, row))
    blanks = [parts + [" " * width] * (height - len(parts)) for parts, width in zip(row, widths, strict=True)]
    return zip(*blanks, strict=True)


def cell_parts(cell: str, column: Column, width: int, console: Console) -> list[str]:
    """Lines of a cell, each as wide as the column: numbers to the right."""
    from rich.text import Text

    cell = cell.rstrip() if column.is_number else cell
    taken = longest([cell])
    if taken > width or not cell.isprintable():
        lines = Text(cell).wrap(console, width, justify="right" if column.is_number else "left", overflow="ellipsis")
        return [line.plain for line in lines]
    spare = " " * (width - taken)
    return [spare + cell if column.is_number else cell + spare]


def block_text(columns: Sequence[Column], width: int) -> Text:
    """One block a row, in it one line a column: heading and cell; a cell that is too long goes on below, broken between words."""
    from rich.text import Text

    names = longest(column.heading for column in columns)
    room = width - names - GAP
    blocks = []
    for row in zip(*(column.cells for column in columns), strict=True):
        lines = [
            line for column, cell in zip(columns, row, strict=True) for line in cell_lines(column.heading.ljust(names), cell, room)
        ]
        blocks.append("\n".join(lines))
    return Text("\n\n".join(blocks), no_wrap=True, overflow="ignore")


def cell_lines(name: str, cell: str, room: int) -> list[str]:
    """A cell behind its name, on as many lines as it takes."""
    parts = line_parts(cell.strip(), max(room, 1)) or [""]
    return [f"{name if number == 0 else ' ' * len(name)}{' ' * GAP}{part}" for number, part in enumerate(parts)]
