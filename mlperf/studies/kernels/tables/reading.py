"""Kernel times from one or several tables, or asked about, with the facts of their machines and the static counts of their code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError, UsageError
from mlperf.datasets.campaigns.kernel_tables import STATIC_KEY, read_kernel_table
from mlperf.datasets.campaigns.kernel_times import UNNAMED, has_counts, normal_form
from mlperf.features.code.table import swc_o
from mlperf.studies.kernels.tables.kernel_times import SETTING, KernelTimes
from mlperf.studies.kernels.tables.machines import ASSUMED, KNOWN, MachineFacts, machine_from_host


def _count_compiled(frame: pd.DataFrame, folder: Path, stored: pd.DataFrame | None) -> pd.DataFrame:
    """Add SWC-O columns from a stored table, else from ``N<size>/<build>/<kernel>.s``; unchanged where counts are missing."""
    counts = counted_files(frame, folder) if stored is None else stored
    if counts is None:
        return frame
    repeated = counts.duplicated(list(STATIC_KEY))
    if repeated.any():
        row = counts[repeated].iloc[0]
        got = f"got static counts of {row['kernel']} ({row['build']}, N = {row['N']}) twice, expected them once"
        raise DataError(got, place=str(folder), hint="Remove one of the two rows.")
    fresh = [name for name in counts.columns if name not in frame.columns or name in STATIC_KEY]
    joined = frame.merge(counts[fresh], on=list(STATIC_KEY), how="left", validate="many_to_one")
    return frame if joined[[name for name in fresh if name not in STATIC_KEY]].isna().any(axis=None) else joined


def counted_files(frame: pd.DataFrame, folder: Path) -> pd.DataFrame | None:
    """Counts of every assembler text of the campaign; None where one is missing."""
    parts = []
    for (size, build), rows in frame.groupby(["N", "build"], sort=False):
        place = folder / f"N{size}" / str(build)
        files = [place / f"{kernel}.s" for kernel in dict.fromkeys(rows["kernel"])]
        if not files or not all(file.is_file() for file in files):
            return None
        parts.append(swc_o(files, key="file").frame.assign(N=rows["N"].iloc[0], build=rows["build"].iloc[0]))
    return pd.concat(parts, ignore_index=True).fillna(0.0)


def read_kernel_times(source: Path | str, *, timed: bool = True) -> KernelTimes:
    """Read measured kernels.

    Parameters
    ----------
    source : path or str
        As `mlperf.datasets.campaigns.kernel_tables.read_kernel_table`.
    timed : bool
        False: kernels to be predicted; their times may be missing.

    Raises
    ------
    DataError
        Nothing of that name, a column is missing, or a cell is wrong: names file, line, column and value.
    """
    table = read_kernel_table(source, timed=timed)
    known = KNOWN.get(table.folder.name)
    frame = table.frame if known is None else table.frame.replace({"machine": {UNNAMED: known.name}})
    if not has_counts(frame):
        frame = _count_compiled(frame, table.folder, table.counts)
    machines = {str(name): facts_of(str(name), known, table.host) for name in frame["machine"].unique()}
    return KernelTimes(table.name, frame, machines, table.simulated, table.data_sha256, table.notes)


def facts_of(name: str, known: MachineFacts | None, host: Mapping[str, Any]) -> MachineFacts:
    """Facts of one machine from what is known of the table and what its host.json says."""
    if known is not None and name == known.name:
        return known
    several = host.get("machines")
    own = several.get(name) if isinstance(several, Mapping) else None
    told = own if isinstance(own, Mapping) else host
    return machine_from_host(name, told) if told else ASSUMED


def read_all_kernels(sources: Sequence[Path | str], *, timed: bool = True) -> KernelTimes:
    """Read several tables into one.

    Parameters
    ----------
    sources : sequence of path or str
        Each as `read_kernel_times`.
    timed : bool
        As there.

    Returns
    -------
    KernelTimes
        Rows in the order given; a count that a table does not have is 0 there, because its kernels do not use the instruction.

    Raises
    ------
    DataError
        No source; or two tables hold the same kernel of the same sweep.
    """
    if not sources:
        raise DataError("got no table of kernels, expected at least one")
    found = [read_kernel_times(source, timed=timed) for source in sources]
    if len(found) == 1:
        return found[0]
    frame = pd.concat([one.frame for one in found], ignore_index=True)
    counts = [name for name in frame.columns if str(name).startswith(("cnt_", "in_"))]
    frame[counts] = frame[counts].fillna(0.0)
    repeated = frame.duplicated([*SETTING, "pattern"])
    if repeated.any():
        row = frame[repeated].iloc[0]
        raise DataError(
            f"got {row['pattern']} of {row['build']}, N = {row['N']} on {row['machine']} twice, expected each kernel once",
            place=", ".join(map(str, sources)),
            hint="Leave one table out.",
        )
    counters = [one.counters for one in found if one.counters is not None]
    return KernelTimes(
        " and ".join(one.name for one in found),
        frame,
        {name: facts for one in found for name, facts in one.machines.items()},
        pd.concat(counters, ignore_index=True) if counters else None,
        {name: digest for one in found for name, digest in one.data_sha256.items()},
        tuple(note for one in found for note in one.notes),
    )


def asked_kernels(patterns: Sequence[str], size: int, files: Sequence[Path | str] = ()) -> KernelTimes:
    """Kernels nobody has run.

    Parameters
    ----------
    patterns : sequence of str
        ``"ij-jlk-kil"``.
    size : int
        Extent N of every loop.
    files : sequence of path
        Assembler source, objdump listing or object of each pattern, in the same order, one function in each; none: only models of
        the source (SWC-S) can answer.

    Raises
    ------
    UsageError
        As many files as patterns were expected, or no pattern.
    DataError
        As `mlperf.features.code.swc_o`.
    """
    if not patterns:
        raise UsageError("got no pattern, expected at least one such as ij-jlk-kil")
    if files and len(files) != len(patterns):
        raise UsageError(
            f"got {len(files)} files for {len(patterns)} patterns, expected one for each",
            hint="Give them in the order of the patterns.",
        )
    raw = pd.DataFrame({"pattern": list(patterns), "N": size, "time_s": np.nan})
    if files:
        counts = pd.concat([swc_o([file], key="file").frame for file in files], ignore_index=True).fillna(0.0)
        raw = pd.concat([raw, counts.drop(columns="kernel")], axis=1)
    frame, _ = normal_form(raw, timed=False)
    return KernelTimes("patterns", frame, {ASSUMED.name: ASSUMED}, None, {})
