"""What a rung of the ladder is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlperf.systems.ladder.result import Climbed, Goal, Score


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
        In the order of the goals; each is one task.
    climb : callable
        ``climb(device, folder)`` scores every method on one device; ``folder`` of the open data, None for the one named by the
        environment.
    over_devices : callable, optional
        Goals that need every device's scores.
    """

    name: str
    title: str
    tables: tuple[tuple[str, str], ...]
    split: str
    devices: tuple[str, ...]
    climb: Callable[[str, Path | None], Climbed]
    over_devices: Callable[[Sequence[Score]], Sequence[Goal]] | None = None

    @property
    def data(self) -> str:
        """The tables in words."""
        return "; ".join(f"{name} {table}" for name, table in self.tables)
