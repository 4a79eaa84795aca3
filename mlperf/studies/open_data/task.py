"""What a task is: a claim, open data, a split, and what is run on each device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from mlperf.datasets import read_open
from mlperf.studies.open_data.result import Finding, Score, TaskResult


@dataclass(frozen=True, slots=True)
class Task:
    """A claim about times, the open data that judge it, and the methods to score.

    Attributes
    ----------
    name, title : str
        ``"A1"`` and what is claimed.
    tables : tuple of (str, str)
        Data sets and tables read.
    split : str
        How rows are split, with groups and seed.
    devices : tuple of str
        Devices that come first, each called by a part of its name in the first table; further devices of that table follow by
        their whole name.
    run : callable
        ``run(device, folder)`` scores every method on one device; ``folder`` of the open data, None for the one named by the
        environment.
    over_devices : callable
        Findings that need every device's scores; by default none.
    sets : tuple of str
        What is run besides the devices of the first table, by name.
    """

    name: str
    title: str
    tables: tuple[tuple[str, str], ...]
    split: str
    devices: tuple[str, ...]
    run: Callable[[str, Path | None], TaskResult]
    over_devices: Callable[[Sequence[Score]], Sequence[Finding]] = lambda _: ()
    sets: tuple[str, ...] = ()

    @property
    def data(self) -> str:
        """The tables in words."""
        return "; ".join(f"{name} {table}" for name, table in self.tables)

    def subjects(self, folder: Path | None) -> tuple[str, ...]:
        """What the task is run on: its devices by short name, further devices of the first table, sets."""
        if not self.devices:
            return self.sets
        names = self._names(folder)
        short = {named[0]: key for key, named in self._found(names).items() if len(named) == 1}
        known = [key for key in self.devices if key in short.values()]
        return (*known, *(name for name in names if name not in short), *self.sets)

    def absent(self, folder: Path | None) -> tuple[str, ...]:
        """Devices called by a short name that the first table does not hold."""
        return tuple(key for key, named in self._found(self._names(folder)).items() if not named)

    def _names(self, folder: Path | None) -> list[str]:
        return [str(name) for name in pd.unique(read_open(*self.tables[0], folder)["device"])] if self.devices else []

    def _found(self, names: Sequence[str]) -> dict[str, list[str]]:
        return {key: [key] if key in names else [name for name in names if key in name] for key in self.devices}
