"""Kernel times with the facts of their machines and the static counts of their code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlperf.datasets.campaigns.kernel_tables import read_kernel_table
from mlperf.datasets.campaigns.kernel_times import UNNAMED, has_counts
from mlperf.studies.kernels.tables.compiled import count_compiled
from mlperf.studies.kernels.tables.kernel_times import KernelTimes
from mlperf.studies.kernels.tables.machines import ASSUMED, KNOWN, MachineFacts, machine_from_host


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
        frame = count_compiled(frame, table.folder, table.counts)
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
