"""Times of kernels in one form, from any contraction campaign or table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError, UsageError
from mlperf.core.shown import Shown
from mlperf.core.suggest import nearest_hint
from mlperf.studies.kernels.tables.machines import ASSUMED, MachineFacts

SETTING = ("machine", "pattern_set", "build", "N", "offset_bytes")
"""Columns whose values together make one sweep: rows that differ in their pattern only."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One sweep: the same machine, family, build, size and alignment."""

    machine: str
    pattern_set: str
    build: str
    N: int
    offset_bytes: int = 0

    def __str__(self) -> str:
        shift = f", offset {self.offset_bytes}" if self.offset_bytes else ""
        return f"{self.pattern_set or 'kernels'}, {self.build or 'one build'}, N = {self.N}{shift}"


@dataclass(frozen=True, slots=True, eq=False)
class KernelTimes(Shown):
    """Measured kernels.

    Attributes
    ----------
    name : str
        Campaign or file.
    frame : DataFrame
        One row a kernel: the columns of `SETTING`, ``pattern``, ``swap_group``, ``time_s``, ``cycles`` of one call (NaN: not
        counted), ``half_a_s`` and ``half_b_s`` (means of
        two halves of the repeats; NaN without repeats), static counts ``cnt_*`` and ``in_*`` where they are known.
    machines : mapping of str to MachineFacts
        By the name in the column ``machine``.
    counters : DataFrame or None
        Simulated or measured counters by ``build``, ``N`` and ``pattern``.
    data_sha256 : mapping of str to str
        What was read.
    notes : tuple of str
        What was assumed.
    """

    name: str
    frame: pd.DataFrame
    machines: Mapping[str, MachineFacts]
    counters: pd.DataFrame | None
    data_sha256: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Every sweep of the table, in order of appearance."""
        rows = self.frame[list(SETTING)].drop_duplicates().itertuples(index=False)
        return tuple(Setting(str(one[0]), str(one[1]), str(one[2]), int(one[3]), int(one[4])) for one in rows)

    def sweep(self, setting: Setting) -> KernelTimes:
        """Rows of one sweep.

        Raises
        ------
        DataError
            The table has none.
        """
        here = np.ones(len(self.frame), dtype=bool)
        for name in SETTING:
            here &= (self.frame[name] == getattr(setting, name)).to_numpy()
        if not here.any():
            raise DataError(f"got no rows of {setting}", place=self.name, hint=f"There are {self.listing()}.")
        return self.rows(here)

    def rows(self, here: Any) -> KernelTimes:
        """Some rows, by flag or by number; counters stay."""
        frame = self.frame[here] if np.asarray(here).dtype == bool else self.frame.iloc[list(here)]
        return KernelTimes(self.name, frame.reset_index(drop=True), self.machines, self.counters, self.data_sha256, self.notes)

    def listing(self) -> str:
        """Sweeps in words."""
        return "; ".join(str(one) for one in self.settings)

    def sizes(self, setting: Setting) -> KernelTimes:
        """Rows of one sweep and of those that differ from it in N only."""
        names = [name for name in SETTING if name != "N"]
        return self.rows(np.logical_and.reduce([(self.frame[name] == getattr(setting, name)).to_numpy() for name in names]))

    def where(self, *, build: str | None = None, N: int | None = None) -> KernelTimes:
        """Rows of one build and size, where they are given.

        Raises
        ------
        DataError
            There are none.
        """
        here = np.ones(len(self.frame), dtype=bool)
        for name, value in (("build", build), ("N", N)):
            if value is not None:
                here &= (self.frame[name] == value).to_numpy()
        if not here.any():
            raise DataError(
                f"got no rows of {build or 'any build'}, N = {N or 'any'}", place=self.name, hint=f"There are {self.listing()}."
            )
        return self.rows(here)

    def on_machine(self, facts: MachineFacts) -> KernelTimes:
        """The same rows as kernels of one machine, whose caches features then assume."""
        frame = self.frame.assign(machine=facts.name)
        return KernelTimes(self.name, frame, {facts.name: facts}, self.counters, self.data_sha256, self.notes)

    def machine(self) -> MachineFacts:
        """Facts of the first row's machine."""
        return self.machines.get(str(self.frame["machine"].iloc[0]), ASSUMED)

    @property
    def time_s(self) -> FloatArray:
        """Seconds of one call, shape (n_rows,)."""
        return self.frame["time_s"].to_numpy(float)

    @property
    def iterations(self) -> FloatArray:
        """Executions of the innermost statement, shape (n_rows,)."""
        return self.frame["iterations"].to_numpy(float)

    @property
    def groups(self) -> Any:
        """What stays in one fold: programs that differ in names only, shape (n_rows,)."""
        return self.frame["swap_group"].to_numpy()

    def count_columns(self, stem: str) -> list[str]:
        """Names of static counts: ``cnt_`` of the whole function, ``in_`` of the innermost loops."""
        return [str(name) for name in self.frame.columns if str(name).startswith(stem)]


def choose_setting(
    times: KernelTimes,
    *,
    pattern_set: str | None = None,
    build: str | None = None,
    N: int | None = None,
    machine: str | None = None,
) -> Setting:
    """The sweep that was asked for, or the first of those that fit.

    Raises
    ------
    UsageError
        None fits.
    """
    wanted = {"pattern_set": pattern_set, "build": build, "N": N, "machine": machine}
    for name, value in wanted.items():
        known = list(dict.fromkeys(str(getattr(one, name)) for one in times.settings))
        if value is not None and str(value) not in known:
            raise UsageError(
                f"got {name} {value!r}, expected one of {', '.join(known)}", place=times.name, hint=nearest_hint(str(value), known)
            )
    fitting = [one for one in times.settings if all(value is None or getattr(one, name) == value for name, value in wanted.items())]
    if not fitting:
        raise UsageError("no sweep fits all of what was asked for", place=times.name, hint=f"There are {times.listing()}.")
    # The paper's build where it is there: vectorised SSE code with reordered sums at the largest size.
    return max(fitting, key=lambda one: ("sse3_fast" in one.build, one.N, -fitting.index(one)))


COLUMNS = ("machine", "pattern_set", "build", "N", "pattern")


def operations_frame(times: KernelTimes) -> pd.DataFrame:
    """One row a kernel: executions of the innermost statement per second and per clock cycle.

    Cycles are counted ones where the table has them, else CPU seconds times the machine's clock, so that a changing clock goes into
    them; NaN where it is unknown.
    """
    clock = np.array([times.machines[str(name)].clock_hz for name in times.frame["machine"]], dtype=float)
    counted, rate = times.frame["cycles"].to_numpy(float), times.iterations / times.time_s
    cycles = np.where(np.isfinite(counted), counted, clock * times.time_s)
    return times.frame[list(COLUMNS)].assign(operations_per_s=rate, operations_per_cycle=times.iterations / cycles)
