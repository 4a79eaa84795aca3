"""Reading tables of measured kernels: a campaign's folder, a bundled or open name, or one CSV file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.core.shown import Shown
from mlperf.datasets.campaigns import bundled
from mlperf.datasets.campaigns.digest import content_sha256
from mlperf.datasets.campaigns.kernel_times import LABELS, TIME_COLUMNS, has_counts, is_known, normal_form
from mlperf.datasets.open.open_data import data_folder
from mlperf.datasets.reading.any_table import read_typed_table
from mlperf.datasets.reading.folder import read_host, table_file
from mlperf.datasets.reading.read import ReadTable

STEMS = ("times", "measurements")
"""File names of a table of kernels in a folder, without their endings."""
STATIC = "swc-o"
"""Stem of the table of static counts that ``mlperf collect contraction --features`` leaves beside the times."""
STATIC_KEY = ("N", "build", "kernel")
SIMULATED = "cachegrind"
SIMULATED_OF_SWEEP = ("cachegrind_gcc_O2_sse3_fast_N50", "gcc_O2_sse3_fast", 50)


@dataclass(frozen=True, slots=True, eq=False)
class KernelTable(Shown):
    """Measured kernels as they were read, and what stands beside them.

    Attributes
    ----------
    name : str
        Campaign or file.
    folder : Path
        Where the table lies.
    frame : DataFrame
        One row a kernel, as `normal_form` makes it.
    counts : DataFrame or None
        Static counts by `STATIC_KEY`, where the table itself has none.
    simulated : DataFrame or None
        Simulated counters by ``build``, ``N`` and ``pattern``.
    host : mapping
        Content of ``host.json``; empty without it.
    data_sha256 : mapping of str to str
        Digest by file name.
    notes : tuple of str
        What was assumed.
    """

    name: str
    folder: Path
    frame: pd.DataFrame
    counts: pd.DataFrame | None
    simulated: pd.DataFrame | None
    host: Mapping[str, Any]
    data_sha256: Mapping[str, str]
    notes: tuple[str, ...] = ()


def read_kernel_table(source: Path | str, *, timed: bool = True) -> KernelTable:
    """Read measured kernels.

    Parameters
    ----------
    source : path or str
        Folder with ``times.csv`` (as ``mlperf collect contraction`` writes it) or ``measurements.csv``, a CSV file, or the name of
        a bundled campaign or of an open data set in the folder that ``MLPERF_SHARED_DATA`` names. Files may end in ``.gz``. Needed
        columns: ``pattern``, ``N`` and ``time_mean_s`` (or ``time_s``).
    timed : bool
        False: kernels to be predicted; their times may be missing.

    Raises
    ------
    DataError
        Nothing of that name, a column is missing, or a cell is wrong: names file, line, column and value.
    """
    path = _find_source(source)
    file = path if path.is_file() else _times_file(path)
    table = _read_times(file, timed=timed)
    frame, notes = normal_form(table.frame, table.grid.error, timed=timed)
    return KernelTable(
        path.name,
        file.parent,
        frame,
        None if has_counts(frame) else read_static(file.parent),
        read_simulated(file.parent),
        read_host(file.parent),
        {file.name: content_sha256({file.name: table.grid.source.data})},
        notes,
    )


def _find_source(source: Path | str) -> Path:
    """Path of a source: as written, else a bundled campaign, else an open data set."""
    path = Path(source)
    if path.exists():
        return path
    for home in (bundled.HOME, data_folder()):
        if home is not None and (home / str(source)).is_dir() and path.name == str(source):
            return home / str(source)
    raise DataError(
        "got no such folder, file, bundled campaign or open data set",
        place=str(source),
        hint="mlperf data list names what there is; mlperf collect contraction measures a folder.",
    )


def _times_file(folder: Path) -> Path:
    """The table of kernels in a folder; DataError: it has none, or twice the same."""
    for stem in STEMS:
        file = table_file(folder, stem)
        if file is not None:
            return file
    raise DataError("got no times.csv", place=str(folder), hint="mlperf collect contraction -o FOLDER writes one.")


def _read_times(file: Path, *, timed: bool) -> ReadTable:
    """Labels, sizes, times and counts of a table of kernels; a time is missing where it may be."""
    table = read_typed_table(file, labels=LABELS, numbers=is_known, others=False, signed=TIME_COLUMNS)
    has_time = any(name in table.frame for name in TIME_COLUMNS)
    missing = [name for name in ("pattern", "N") if name not in table.frame] + ["time_mean_s"] * (timed and not has_time)
    if missing:
        raise DataError(
            f"got no column {missing[0]!r}, expected pattern, N and time_mean_s",
            place=f"{file}, line 1",
            hint="Tables of kernels that are no contractions: mlperf train TABLE --join FEATURES.",
        )
    return table if has_time else ReadTable(table.frame.assign(**{TIME_COLUMNS[0]: float("nan")}), table.grid)


def read_static(folder: Path) -> pd.DataFrame | None:
    """Static counts beside a table, columns `STATIC_KEY` and counts; None where there are none by kernel, build and size."""
    file = table_file(folder, STATIC)
    if file is None:
        return None
    frame = read_typed_table(file, labels=("build", "kernel"), numbers=is_known).frame
    return frame if set(STATIC_KEY) <= set(frame.columns) else None


def read_simulated(folder: Path) -> pd.DataFrame | None:
    """Simulated counters beside a table: columns ``build``, ``N``, ``pattern``, ``cg_*``; None where there are none."""
    labels = ("build", "pattern")
    own = table_file(folder, SIMULATED)
    if own is not None:
        return read_typed_table(own, labels=labels).frame
    stem, build, size = SIMULATED_OF_SWEEP
    sweep = table_file(folder, stem)
    return None if sweep is None else read_typed_table(sweep, labels=labels).frame.assign(build=build, N=size)
