"""Folded stacks: what flame graphs are drawn from, by group of events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import IntArray
from mlperf.core.printable import printable_lines
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable

NO_STACK = "(no name)"
SEPARATOR = ";"
MEASURES = {Kind.SAMPLE: "cpu", Kind.STACK: "elapsed"}
"""What the weight of a row with a stack is: time on a processor, or time that passed."""


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """To which of some named groups each event belongs.

    Attributes
    ----------
    names : tuple of str
    of_event : array of int, shape (n_events,)
        Number into `names`; -1: to none.
    """

    names: tuple[str, ...]
    of_event: IntArray

    def name_of(self, number: int) -> str:
        """The group's name."""
        return self.names[number] if number >= 0 else "none"


def folded_stacks(events: EventTable, swarms: Groups | None = None, phases: Groups | None = None) -> pd.DataFrame:
    """Time by stack, swarm and phase.

    Parameters
    ----------
    events : EventTable
        With SAMPLE or STACK rows.
    swarms, phases : Groups, optional
        Of all events; where they are not given everything is in group ``"all"``.

    Returns
    -------
    DataFrame
        ``measure`` (``"cpu"`` of samples, ``"elapsed"`` of stacks), ``swarm, phase, stack`` (``root;...;leaf``), ``weight_ns``,
        ``n_samples``; sums over all rows of a measure are those of the events.
    """
    rows = np.flatnonzero(np.isin(events.kind, [int(kind) for kind in MEASURES]))
    columns = {
        "kind": events.kind[rows],
        "swarm": _numbers(swarms, rows),
        "phase": _numbers(phases, rows),
        "text": np.where(events.site[rows] >= 0, events.site[rows], events.name[rows]),
        "weight_ns": events.weight_ns[rows],
    }
    keys = ["kind", "swarm", "phase", "text"]
    groups = pd.DataFrame(columns).groupby(keys, sort=True)["weight_ns"]
    found = groups.agg(["sum", "size"]).reset_index()
    return pd.DataFrame(
        {
            "measure": [MEASURES[Kind(number)] for number in found["kind"]],
            "swarm": _named(swarms, found["swarm"].tolist()),
            "phase": _named(phases, found["phase"].tolist()),
            "stack": [_stack(events.strings, number) for number in found["text"].tolist()],
            "weight_ns": found["sum"].to_numpy(np.int64),
            "n_samples": found["size"].to_numpy(np.int64),
        }
    )


def folded_text(stacks: pd.DataFrame) -> str:
    """Lines ``root;...;leaf nanoseconds`` as flame graph programs read them, the heaviest first; stacks of one text are one."""
    total = stacks.groupby("stack", sort=True)["weight_ns"].sum()
    total = total.sort_values(ascending=False, kind="stable")
    return "".join(f"{stack} {weight}\n" for stack, weight in total.items())


def _numbers(groups: Groups | None, rows: IntArray) -> IntArray:
    return np.zeros(len(rows), dtype=np.int64) if groups is None else groups.of_event[rows].astype(np.int64)


def _named(groups: Groups | None, numbers: Sequence[int]) -> list[str]:
    return ["all"] * len(numbers) if groups is None else [groups.name_of(number) for number in numbers]


def _stack(strings: Sequence[str], number: int) -> str:
    """A stack on one line."""
    if number < 0:
        return NO_STACK
    return printable_lines(strings[number]).replace("\n", "\\n") or NO_STACK
