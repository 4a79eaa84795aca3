"""What a rung of the ladder is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from mlperf.datasets import read_open
from mlperf.studies.open_data.result import Climbed, Goal, Score


@dataclass(frozen=True, slots=True)
class Rung:
    """One rung: a claim, open data, a split, goals.

    Attributes
    ----------
    name, title : str
        ``"A1"`` and what is claimed.
    tables : tuple of (str, str)
        Data sets and tables read.
    split : str
        How rows are split, with groups and seed.
    devices : tuple of str
        Devices that have goals, in the order of the limits, by a part of their name in the first table. Each device of that table
        is one task, those without goals by their whole name.
    climb : callable
        ``climb(device, folder)`` scores every method on one device; ``folder`` of the open data, None for the one named by the
        environment.
    over_devices : callable, optional
        Goals that need every device's scores.
    sets : tuple of str
        Tasks that are no device of the first table.
    """

    name: str
    title: str
    tables: tuple[tuple[str, str], ...]
    split: str
    devices: tuple[str, ...]
    climb: Callable[[str, Path | None], Climbed]
    over_devices: Callable[[Sequence[Score]], Sequence[Goal]] | None = None
    sets: tuple[str, ...] = ()

    @property
    def data(self) -> str:
        """The tables in words."""
        return "; ".join(f"{name} {table}" for name, table in self.tables)

    def subjects(self, folder: Path | None) -> tuple[str, ...]:
        """One name a task: devices with goals, further devices of the first table, sets."""
        if not self.devices:
            return self.sets
        names = self._names(folder)
        short = {named[0]: key for key, named in self._found(names).items() if len(named) == 1}
        known = [key for key in self.devices if key in short.values()]
        return (*known, *(name for name in names if name not in short), *self.sets)

    def absent(self, folder: Path | None) -> tuple[str, ...]:
        """Devices with goals that the first table does not hold."""
        return tuple(key for key, named in self._found(self._names(folder)).items() if not named)

    def _names(self, folder: Path | None) -> list[str]:
        return [str(name) for name in pd.unique(read_open(*self.tables[0], folder)["device"])] if self.devices else []

    def _found(self, names: Sequence[str]) -> dict[str, list[str]]:
        return {key: [key] if key in names else [name for name in names if key in name] for key in self.devices}
