"""What a counted command leaves: a row for each run, and the dictionary of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from mlperf.collect.counters.offers import Probe
from mlperf.core.errors import DataError
from mlperf.core.files import write_text_whole
from mlperf.core.places import check_file_places
from mlperf.core.shown import Shown
from mlperf.datasets.dictionary.counters import COUNTERS
from mlperf.datasets.reading.any_table import read_typed_table
from mlperf.datasets.reading.grid import read_grid
from mlperf.datasets.reading.source import read_source

RUN_COLUMNS = ("run", "exit_code", "scaled")
Row = Mapping[str, float | str]
DICTIONARY = ("column", "unit", "source", "meaning")


@dataclass(frozen=True, slots=True, eq=False)
class Counted(Shown, frame="runs"):
    """Result of `count_command`.

    Attributes
    ----------
    command : tuple of str
        What was run.
    command_exit_code : int
        Its own; the first that is not 0 where it ran several times; 128 + number where a signal ended it.
    sources : tuple of str
        Who counted.
    runs : DataFrame
        One row a run: labels, ``run``, ``exit_code``, ``scaled`` (columns that are extrapolated because their events shared the
        processor's counters, between blanks) and one column a counter; what was not counted has no column, and an empty
        cell (NaN) where only some runs counted it.
    functions : DataFrame or None
        One row a function, simulated counts; None without cachegrind.
    probe : Probe
        What the machine offers.
    notes : tuple of str
        What a reader should know about the rows.
    """

    command: tuple[str, ...]
    command_exit_code: int
    sources: tuple[str, ...]
    runs: pd.DataFrame
    functions: pd.DataFrame | None
    probe: Probe
    notes: tuple[str, ...]


def runs_frame(labels: Mapping[str, str], rows: Sequence[Row]) -> pd.DataFrame:
    """Rows with their labels, counters in the order of the dictionary."""
    found = {name for row in rows for name in row}
    columns = [*RUN_COLUMNS, *(name for name in COUNTERS if name in found)]
    frame = pd.DataFrame(rows, columns=columns)
    for at, (name, value) in enumerate(labels.items()):
        frame.insert(at, name, value)
    return frame


def dictionary(columns: Sequence[str]) -> pd.DataFrame:
    """Unit, source and meaning of each column that is a counter."""
    known = [COUNTERS[name] for name in columns if name in COUNTERS]
    return pd.DataFrame([(each.name, each.unit, each.source, each.doc) for each in known], columns=list(DICTIONARY))


def write_counted(counted: Counted, path: Path | str, *, append: bool = False) -> tuple[Path, ...]:
    """Write the rows of a command, what their columns are, and its functions where they were counted.

    Parameters
    ----------
    counted : Counted
        What to write.
    path : path
        ``table.csv``; beside it ``table.columns.csv`` and, with cachegrind, ``table.functions.csv``.
    append : bool
        Keep the rows that the files hold already. Columns of either side are empty in the rows of the other.

    Returns
    -------
    tuple of paths
        What was written.

    Raises
    ------
    DataError
        The file that rows should be added to is no table of counters.
    """
    path = Path(path)
    further = [] if counted.functions is None else [beside(path, "functions")]
    places = check_file_places(path, *further, beside(path, "columns"))
    labels = counted.runs.columns[: list(counted.runs.columns).index(RUN_COLUMNS[0])]
    tables = {path: counted.runs}
    if counted.functions is not None:
        named = counted.functions.copy()
        for at, name in enumerate(labels):
            named.insert(at, name, counted.runs[name].iloc[0])
        tables[beside(path, "functions")] = named
    if append:
        tables = {target: joined(target, rows) if target.exists() else rows for target, rows in tables.items()}
    tables[beside(path, "columns")] = dictionary(list(tables[path].columns))
    for place in places:
        write_csv(place, tables[place])
    return places


def joined(path: Path, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of a file with new ones below them.

    Raises
    ------
    DataError
        The file holds something else, or a cell of a counter is no number.
    """
    labels = [name for name in read_grid(read_source(path)).header if name not in COUNTERS]
    before = read_typed_table(path, labels=labels, numbers=COUNTERS.__contains__).frame
    own = RUN_COLUMNS[:2] if RUN_COLUMNS[0] in rows else ("function",)
    for name in own:
        if name not in before:
            raise DataError(
                f"is missing: got {', '.join(map(str, before.columns))}",
                place=f"{path}, column {name}",
                hint="Rows can be added to tables of mlperf collect counters only.",
            )
    both = pd.concat([before, rows], ignore_index=True)
    names = [name for name in both if name not in COUNTERS]
    return both[[*names, *(name for name in COUNTERS if name in both)]]


def lacking_labels(path: Path) -> str:
    """Labels that some rows of a table lack, because rows of other keys were added; empty where every row has all.

    Such rows cannot be told apart, or joined, by these labels.
    """
    grid = read_grid(read_source(path))
    labels = [name for name in grid.header if name not in COUNTERS and name not in RUN_COLUMNS]
    empty = {name: sum(not text.strip() for text in texts) for name, texts in grid.texts(labels).items()}
    return ", ".join(f"{name} ({number:,} of {grid.n_rows:,} rows)" for name, number in empty.items() if number)


def write_csv(path: Path, frame: pd.DataFrame) -> None:
    """Write a table whole; numbers with all their digits."""
    write_text_whole(path, frame.to_csv(index=False, float_format="%.17g", lineterminator="\n"))


def beside(path: Path, word: str) -> Path:
    """``table.csv`` to ``table.word.csv``."""
    return path.with_name(f"{path.name.removesuffix('.csv')}.{word}.csv")
