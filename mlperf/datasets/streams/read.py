"""A stream on disk: read with numbers exactly as they were written and errors with line and column; recorded line by line."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.core.places import check_file_place, place_error
from mlperf.datasets.dictionary.numbers import number_hint, parse_number
from mlperf.datasets.reading.grid import csv_rows
from mlperf.datasets.reading.read import separator_hint
from mlperf.datasets.reading.source import read_source
from mlperf.datasets.streams.columns import COLUMNS, COUNTER, GAUGE, column_of

TIME = "t_s"
RATES_TABLE = "dt_s"
MIN_ROWS = 2
SETTINGS_S = ("interval_s", "horizon_s")
SETTINGS: tuple[str, ...] = ("interval_s", "horizon_s", "performance")


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """Counters of one program over time.

    Attributes
    ----------
    name : str
        The file's name without ending.
    columns : tuple of str
        Numeric columns but time and settings, in the file's order.
    t_s : array, shape (n_samples,)
        Seconds, ascending.
    values : array, shape (n_samples, n_columns)
        As written: counters cumulative, gauges as they are.
    settings : mapping
        ``interval_s``, ``horizon_s``, ``performance`` where the file says them.
    is_rates : bool
        Whether counters were turned into rates per second already (a column ``dt_s`` says so).
    sha256 : str
        Of the file's content.
    notes : tuple of str
        Columns that nobody knows, and a last line that was cut off.
    """

    name: str
    columns: tuple[str, ...]
    t_s: FloatArray
    values: FloatArray
    settings: Mapping[str, str]
    is_rates: bool
    sha256: str
    notes: tuple[str, ...]

    @property
    def interval_s(self) -> float:
        """Time between samples: what was asked for where the file says so, else the median."""
        said = self.settings.get("interval_s")
        return float(said) if said else float(np.median(np.diff(self.t_s)))


def read_stream(path: Path | str) -> Stream:
    """Read the recorded stream of one program.

    Parameters
    ----------
    path : path
        CSV with a header; ``t_s`` and at least one counter; ``.gz`` where its name ends so.

    Raises
    ------
    DataError
        No such file, no time, fewer than two samples, a cell that is no number, or time that goes backwards.
    """
    path = Path(path)
    source = read_source(path)
    data, notes = source.data, []
    if not data.endswith(b"\n"):
        whole, _, rest = data.rpartition(b"\n")
        if whole and rest.count(b",") < whole.partition(b"\n")[0].count(b","):
            data = whole + b"\n"
            notes.append("the last line was cut off and is left out")
    header, *lines = [cells for _, cells in csv_rows(replace(source, data=data)) if cells]
    if len(set(header)) != len(header):
        raise DataError("got a column name twice, expected every name once", place=f"{path}, line 1")
    if TIME not in header:
        got = ", ".join(header)
        hint = separator_hint(header) or "mlperf watch --record writes such streams; rename a column of seconds."
        raise DataError(f"no column {TIME!r} in {got:.200}, expected the time of each sample", place=f"{path}, line 1", hint=hint)
    if len(lines) < MIN_ROWS:
        raise DataError(f"got {len(lines)} samples, expected at least {MIN_ROWS}", place=str(path))
    columns, unknown = numeric_columns(header, lines[0])
    notes += [f"column {name!r} is not in the dictionary of streams: taken as a level" for name in unknown]
    table = cells(path, header, lines, (TIME, *columns))
    _check_time(path, table[:, 0])
    settings: dict[str, str] = {name: lines[0][header.index(name)] for name in SETTINGS if name in header}
    check_settings(path, settings)
    digest = hashlib.sha256(source.data).hexdigest()
    name = path.name.removesuffix(".gz").removesuffix(".csv")
    return Stream(name, columns, table[:, 0], table[:, 1:], settings, RATES_TABLE in header, digest, tuple(notes))


def check_settings(path: Path, settings: Mapping[str, str]) -> None:
    """Accept times among the settings that are seconds > 0, or not said; DataError: names the column."""
    for name in SETTINGS_S:
        said = settings.get(name, "")
        if said and not (parse_number(said) or 0.0) > 0.0:
            raise DataError(f"got {said!r}, expected seconds > 0", place=f"{path}, line 2, column {name}", hint=number_hint(said))


def numeric_columns(header: list[str], first: list[str]) -> tuple[tuple[str, ...], list[str]]:
    """Columns that a forecast may use, and those of them that nobody knows; text and labels are left out."""
    usable = [
        name
        for name, cell in zip(header, first, strict=False)
        if column_of(name).kind in (COUNTER, GAUGE) and name != RATES_TABLE and parse_number(cell) is not None
    ]
    return tuple(usable), [name for name in usable if name not in COLUMNS]


def cells(path: Path, header: list[str], lines: list[list[str]], names: tuple[str, ...]) -> FloatArray:
    """The named columns as numbers, shape (n_samples, n_names)."""
    places = [header.index(name) for name in names]
    table = np.empty((len(lines), len(names)))
    for row, line in enumerate(lines):
        if len(line) != len(header):
            raise DataError(f"got {len(line)} cells, expected {len(header)}", place=f"{path}, line {row + 2}")
        for column, place in enumerate(places):
            value = parse_number(line[place])
            if value is None:
                raise DataError(
                    f"got {line[place]!r}, expected a number",
                    place=f"{path}, line {row + 2}, column {header[place]}",
                    hint=number_hint(line[place]),
                )
            table[row, column] = value
    return table


def _check_time(path: Path, t_s: FloatArray) -> None:
    """Accept times that ascend; DataError: names the first line that does not."""
    back = np.flatnonzero(np.diff(t_s) <= 0)
    if len(back):
        row = int(back[0]) + 1
        raise DataError(
            f"got {t_s[row]:g} after {t_s[row - 1]:g}, expected time to go forwards", place=f"{path}, line {row + 2}, column {TIME}"
        )


class Recording(AbstractContextManager["Recording"]):
    """An open CSV that grows by whole lines.

    Parameters
    ----------
    path : path
        File to write; one that is there is replaced.
    columns : sequence of str
        Header.

    Raises
    ------
    UsageError, DataError
        The file cannot be written; the disk is full.
    """

    def __init__(self, path: Path | str, columns: Sequence[str]) -> None:
        self.path = Path(path)
        self.n_lines = 0
        check_file_place(self.path)
        try:
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        except OSError as error:
            raise place_error(self.path, error) from error
        self._write(columns)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._file)

    def add(self, values: Sequence[float | str]) -> None:
        """Write one sample; numbers get the shortest text that reads back as the same number."""
        self._write([value if isinstance(value, str) else number_text(value) for value in values])
        self.n_lines += 1

    def _write(self, cells: Sequence[str]) -> None:
        # One call for the whole line: a kill or a reader meets whole lines only.
        line = (",".join(cells) + "\n").encode("utf-8", "backslashreplace")
        try:
            # A disk that becomes full takes a part first, and says so the second time.
            while line:
                line = line[os.write(self._file, line) :]
        except OSError as error:
            raise place_error(self.path, error) from error


def number_text(value: float) -> str:
    """Shortest exact text; whole numbers without a point."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))
