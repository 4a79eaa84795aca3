"""Reading kernel times: a campaign's folder, a bundled or open name, or one CSV file."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError, UsageError
from mlperf.datasets.campaigns.digest import content_sha256
from mlperf.datasets.open.open_data import data_folder
from mlperf.datasets.reading.folder import SUFFIXES
from mlperf.datasets.reading.source import read_source
from mlperf.specs.patterns import check_pattern, swap_group
from mlperf.studies.kernels.tables.compiled import count_compiled
from mlperf.studies.kernels.tables.kernel_times import COUNTS, KernelTimes
from mlperf.studies.kernels.tables.machines import ASSUMED, KNOWN, MachineFacts, machine_from_host

TABLES = ("times", "measurements")
"""File names of a table of kernels in a folder, without their endings."""
TIME_COLUMNS = ("time_mean_s", "time_s", "time_median_s")
REPEATS = tuple(f"cpu{number}_s" for number in range(1, 6))
SUMMARIES = ("n_insn", "n_inner", "n_loops", "max_depth", "vectorized", "mem_loads_inner", "lanes_inner")
CACHEGRIND_OF_SWEEP = ("cachegrind_gcc_O2_sse3_fast_N50", "gcc_O2_sse3_fast", 50)


def read_kernel_times(source: Path | str, *, timed: bool = True) -> KernelTimes:
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
        Nothing of that name, a column is missing, or a cell is wrong.
    """
    path = find_source(source)
    file = path if path.is_file() else table_file(path)
    data = read_source(file).data
    raw = pd.read_csv(io.BytesIO(data), keep_default_na=False, na_values=["", "NaN"], low_memory=False).copy()
    known = KNOWN.get(path.name if path.is_dir() else path.parent.name)
    host = read_host(file.parent)
    if not timed and not any(name in raw for name in TIME_COLUMNS):
        raw = raw.assign(**{TIME_COLUMNS[0]: np.nan})
    frame, notes = normal_form(raw, str(file), known.name if known else "", timed=timed)
    if not any(str(name).startswith(COUNTS) for name in frame.columns):
        frame = count_compiled(frame, file.parent)
    machines = {str(name): facts_of(str(name), known, host) for name in frame["machine"].unique()}
    digests = {file.name: content_sha256({file.name: data})}
    return KernelTimes(path.name, frame, machines, read_counters(file.parent), digests, notes)


def find_source(source: Path | str) -> Path:
    """Path of a source: as written, else a bundled campaign, else an open data set."""
    path = Path(source)
    if path.exists():
        return path
    bundled = Path(__file__).parents[2] / "datasets" / "data" / str(source)
    opened = data_folder()
    for folder in (bundled, *([opened / str(source)] if opened else [])):
        if folder.is_dir() and path.name == str(source):
            return folder
    raise DataError(
        "got no such folder, file, bundled campaign or open data set",
        place=str(source),
        hint="mlperf data list names what there is; mlperf collect contraction measures a folder.",
    )


def table_file(folder: Path) -> Path:
    """The table of kernels in a folder.

    Raises
    ------
    DataError
        It has none.
    """
    for stem in TABLES:
        for suffix in SUFFIXES:
            if (folder / f"{stem}{suffix}").is_file():
                return folder / f"{stem}{suffix}"
    raise DataError("got no times.csv", place=str(folder), hint="mlperf collect contraction -o FOLDER writes one.")


def read_host(folder: Path) -> Mapping[str, Any]:
    """``host.json`` beside a table; empty without one."""
    import json

    path = folder / "host.json"
    if not path.is_file():
        return {}
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"is no JSON ({error})", place=str(path)) from None
    return told if isinstance(told, dict) else {}


def facts_of(name: str, known: MachineFacts | None, host: Mapping[str, Any]) -> MachineFacts:
    """Facts of one machine from what is known of the table and what its host.json says."""
    if known is not None and name == known.name:
        return known
    several = host.get("machines")
    own = several.get(name) if isinstance(several, Mapping) else None
    told = own if isinstance(own, Mapping) else host
    return machine_from_host(name, told) if told else ASSUMED


def normal_form(raw: pd.DataFrame, place: str, machine: str = "", *, timed: bool = True) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Columns of `KernelTimes` from a table's own, and what had to be assumed.

    Raises
    ------
    DataError
        A needed column is missing, a time is not positive, a size is not whole, or a pattern is none.
    """
    named = next((name for name in TIME_COLUMNS if name in raw), None)
    missing = [name for name in ("pattern", "N") if name not in raw] + ([] if named else ["time_mean_s"])
    if missing or named is None:
        raise DataError(
            f"got no column {missing[0]!r}, expected pattern, N and time_mean_s",
            place=f"{place}, line 1",
            hint="Tables of kernels that are no contractions: mlperf train TABLE --join FEATURES.",
        )
    check_numbers(raw, named, place, timed=timed)
    size = raw["N"].to_numpy(int)
    patterns = raw["pattern"].astype(str)
    loops = patterns.map(number_of_loops).to_numpy(int)
    first, second, notes = halves(raw)
    kept = [name for name in raw.columns if str(name).startswith(COUNTS) or name in SUMMARIES]
    frame = pd.DataFrame(
        {
            "machine": text_column(raw, "machine", machine or ASSUMED.name),
            "pattern_set": text_column(raw, "pattern_set", ""),
            "build": text_column(raw, "build", ""),
            "N": size,
            "offset_bytes": raw["offset_bytes"].to_numpy(int) if "offset_bytes" in raw else np.zeros(len(raw), int),
            "kernel": text_column(raw, "kernel", None, patterns),
            "pattern": patterns,
            "swap_group": patterns.map(swap_group),
            "iterations": size.astype(float) ** loops,
            "time_s": raw[named].to_numpy(float),
            "cycles": cycles_of(raw),
            "half_a_s": first,
            "half_b_s": second,
        }
    )
    return pd.concat([frame, raw[kept].fillna(0.0).reset_index(drop=True)], axis=1), notes


def check_numbers(raw: pd.DataFrame, time: str, place: str, *, timed: bool) -> None:
    """Refuse times that are not positive, sizes that are not whole, patterns that are none; missing times only where asked."""
    seconds, sizes = (pd.to_numeric(raw[column], errors="coerce").to_numpy(float) for column in (time, "N"))
    unasked = raw[time].isna().to_numpy() & (not timed)
    rules = (
        (time, unasked | (np.isfinite(seconds) & (seconds > 0)), "seconds > 0"),
        ("N", np.isfinite(sizes) & (sizes >= 1) & (sizes % 1 == 0), "a whole number >= 1"),
    )
    for column, is_right, expected in rules:
        wrong = ~is_right
        if wrong.any():
            row = int(np.argmax(wrong))
            raise DataError(
                f"got {raw[column].iloc[row]!s}, expected {expected}", place=f"{place}, line {row + 2}, column {column}"
            )
    for row, pattern in enumerate(raw["pattern"].astype(str)):
        try:
            check_pattern(pattern)
        except UsageError as error:
            raise DataError(error.message, place=f"{place}, line {row + 2}, column pattern", hint=error.hint) from None


def number_of_loops(pattern: str) -> int:
    """Loops around a contraction: i, j, k, l and every further index."""
    return len({*"ijkl", *pattern} - {"-"})


def text_column(raw: pd.DataFrame, name: str, default: str | None, otherwise: pd.Series | None = None) -> pd.Series:
    """A column as text; the default where the table has none."""
    if name in raw:
        return raw[name].fillna(default or "").astype(str)
    return otherwise if otherwise is not None else pd.Series(default, index=raw.index)


def cycles_of(raw: pd.DataFrame) -> Any:
    """Counted clock cycles of one call; NaN where nothing counted them."""
    counted = raw["cycles_mean"].to_numpy(float) if "cycles_mean" in raw else np.zeros(len(raw))
    return np.where(counted > 0, counted, np.nan)


def halves(raw: pd.DataFrame) -> tuple[Any, Any, tuple[str, ...]]:
    """Means of two halves of the repeats of every row, and a note where there are none."""
    repeats = [name for name in REPEATS if name in raw]
    if len(repeats) >= 2:
        cut = len(repeats) // 2
        return raw[repeats[:cut]].mean(axis=1).to_numpy(float), raw[repeats[cut:]].mean(axis=1).to_numpy(float), ()
    if {"time_odd_s", "time_even_s"} <= set(raw.columns):
        even = raw["time_even_s"].to_numpy(float)
        return raw["time_odd_s"].to_numpy(float), np.where(even > 0, even, np.nan), ()
    nothing = np.full(len(raw), np.nan)
    return nothing, nothing, ("no repeats in the table: the noise ceiling is unknown",)


def read_counters(folder: Path) -> pd.DataFrame | None:
    """Simulated counters beside a table: columns ``build``, ``N``, ``pattern``, ``cg_*``; None where there are none."""
    own = next((folder / f"cachegrind{suffix}" for suffix in SUFFIXES if (folder / f"cachegrind{suffix}").is_file()), None)
    if own is not None:
        return pd.read_csv(own)
    stem, build, size = CACHEGRIND_OF_SWEEP
    sweep = next((folder / f"{stem}{suffix}" for suffix in SUFFIXES if (folder / f"{stem}{suffix}").is_file()), None)
    return None if sweep is None else pd.read_csv(sweep).assign(build=build, N=size)
