"""What is run and what it is judged by: a TOML file, fixed before the runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from mlperf.core.documents import read_toml
from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields

CORES, WORKERS = "cores", "workers"


@dataclass(frozen=True, slots=True)
class ProgramSettings:
    """Steps of a run, hidden units, wait for an accelerator in milliseconds."""

    steps: int
    hidden: int
    device_ms: float


@dataclass(frozen=True, slots=True)
class Series:
    """One kind of input with more and more cores or workers.

    Attributes
    ----------
    vary : str
        ``"cores"`` or ``"workers"``.
    fault : str
        Of the program; removed where ``mended``.
    mended : bool
    batch, workers : int
        Samples of a step; loader workers, or the most of them.
    hint : str
        What the first hint on the run with the fewest must be; empty: whatever it is.
    """

    vary: str
    fault: str
    mended: bool
    batch: int
    workers: int
    hint: str

    def settings(self, n_cores: int) -> tuple[tuple[int, int], ...]:
        """(cores, workers) of each run, on a machine of so many cores."""
        if self.vary == WORKERS:
            return tuple((n_cores, workers) for workers in range(1, self.workers + 1))
        doubled = [1 << power for power in range(n_cores.bit_length()) if 1 << power < n_cores]
        return tuple((cores, self.workers) for cores in (*doubled, n_cores))


@dataclass(frozen=True, slots=True)
class CaseLimits:
    """Errors of predictions: see the file."""

    throughput: float
    largest: float
    lost_devices: float
    covered: float
    wrong_hints: float


@dataclass(frozen=True, slots=True)
class CaseProtocol:
    """All of it.

    Attributes
    ----------
    repeats, n_devices : int
        Runs of everything; devices that losses are told in.
    program : ProgramSettings
    series : mapping
        Name to series.
    limits : CaseLimits
    """

    repeats: int
    n_devices: int
    program: ProgramSettings
    series: Mapping[str, Series]
    limits: CaseLimits


def read_case_protocol(path: Path) -> CaseProtocol:
    """Read a protocol.

    Raises
    ------
    DataError
        A table or a value is missing, or one too many is there.
    """
    with Fields(read_toml(path), str(path)) as told, told.child("program") as program, told.child("limits") as limits:
        return CaseProtocol(
            told.integer("repeats", lower=1),
            told.integer("n_devices", lower=1),
            ProgramSettings(
                program.integer("steps", lower=1), program.integer("hidden", lower=1), program.number("device_ms", lower=0)
            ),
            {name: _series(each) for name, each in told.named_children("series").items()},
            CaseLimits(**{each.name: limits.number(each.name, lower=0) for each in fields(CaseLimits)}),
        )


def _series(table: Fields) -> Series:
    """One table."""
    with table as told:
        return Series(
            told.text("vary", (CORES, WORKERS)),
            told.text("fault"),
            told.boolean("mended"),
            told.integer("batch", lower=1),
            told.integer("workers", lower=1, upper=1024),
            told.text("hint"),
        )


def usable_cores() -> tuple[int, ...]:
    """Cores that this process may use.

    Raises
    ------
    DataError
        The system cannot bind a process to cores, or there is but one.
    """
    found = tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()
    if len(found) < 2:
        raise DataError(f"got {len(found)} cores to bind to, expected at least two", place="this machine")
    return found
