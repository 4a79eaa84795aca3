"""Edits of a run as data: what is to be otherwise, and where."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.core.errors import UsageError
from mlperf.core.suggest import did_you_mean
from mlperf.traces.replay.run import Replay
from mlperf.traces.replay.timing import Timing

EVENTS = ("wait", "duration", "processing", "compute", "length")
"""Edits of events; compute and length also take a factor."""
SCALED = ("compute", "length")
EVERY = -1
END = -2
"""The index of what a rank computes after its last call."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One assumption.

    Attributes
    ----------
    what : str
        ``wait``, ``duration``, ``processing``, ``compute``, ``length``, ``balance`` or ``network``.
    text : str
        As the user wrote it.
    label : str
        The paper's name for it where it has one: ``A4(k)``, else empty.
    factor : float
        What a computation or length is multiplied by; 0 for the others.
    rank, index : int
        One event: its rank, and its number there, from 0; -1 where the edit is of many. An index of `END` is what follows the last.
    site : str
        Part of the call site or name of the events that are meant.
    region : str
        Region whose computation, or messages, are meant, or whose steps are balanced.
    steps : tuple of int
        Steps to balance; empty for all.
    parts : tuple of str
        What is balanced: ``compute``, ``volume`` or both.
    timing : Timing or None
        Of ``network``: how messages are timed, this edit alone.
    parameters : tuple of (str, float)
        Of ``network``: parameters of `LogGPS` that are changed of whatever network there is; empty for another network.
    """

    what: str
    text: str
    label: str = ""
    factor: float = 0.0
    rank: int = EVERY
    index: int = EVERY
    site: str = ""
    region: str = ""
    steps: tuple[int, ...] = ()
    parts: tuple[str, ...] = ("compute", "volume")
    timing: Timing | None = None
    parameters: tuple[tuple[str, float], ...] = ()


def changed_timing(timing: Timing, parameters: Iterable[tuple[str, float]]) -> Timing:
    """The same network with other parameters.

    Raises
    ------
    UsageError
        The preset's constants hide one: changing it would change nothing.
    """
    given = dict(parameters)
    hidden = [name for name in given if name in timing.preset.unused]
    if hidden:
        hint = "Its constants are fits that hold it already: name another network."
        raise UsageError(f"network {timing.preset.name} has no {', '.join(hidden)} of its own", hint=hint)
    return dataclasses.replace(timing, parameters=timing.parameters.replace(**given))


def timing_after(timing: Timing, edits: Iterable[Edit]) -> Timing:
    """How messages are timed after all edits, in their order: a network replaces what came before, a parameter changes it."""
    for edit in edits:
        if edit.parameters:
            timing = changed_timing(timing, edit.parameters)
        elif edit.timing is not None:
            timing = edit.timing
    return timing


def events_of(run: Replay, edit: Edit) -> IntArray:
    """The communication events that an edit means.

    Raises
    ------
    UsageError
        There are none: the message says how many there are, or which names come near.
    """
    calls = run.program.calls
    if edit.rank != EVERY:
        mine = np.flatnonzero(calls.event_rank == rank_of(run, edit))
        if edit.index >= len(mine):
            raise UsageError(f"{edit.text}: rank {edit.rank} has {len(mine)} communication events, the last is {len(mine) - 1}")
        return mine[[edit.index]]
    places = event_places(run)
    wanted = [number for number, text in enumerate(places) if edit.site in text]
    if edit.site and not wanted:
        raise UsageError(
            f"{edit.text}: no event's call site or name holds {edit.site!r}. {did_you_mean(edit.site, sorted(set(places)))}"
        )
    return np.array(wanted, dtype=np.int64)


def rank_of(run: Replay, edit: Edit) -> int:
    """The rank that an edit means; UsageError if the run has none of that number."""
    if edit.rank >= run.program.n_ranks:
        raise UsageError(f"{edit.text}: no rank {edit.rank}, the run has {run.program.n_ranks}")
    return edit.rank


def event_places(run: Replay) -> list[str]:
    """Name and call site of every communication event: ``MPI_Recv solve.c:41``."""
    table, rows = run.program.table, run.program.calls.rows
    names, sites = table.text(table.name[rows]), table.text(table.site[rows])
    return [f"{name} {site}".strip() for name, site in zip(names, sites, strict=True)]


def event_number(run: Replay, event: IntArray) -> IntArray:
    """The number of events on their ranks, from 0."""
    rank = run.program.calls.event_rank
    first = np.searchsorted(rank, np.arange(run.program.n_ranks + 1))
    return np.asarray(event - first[rank[event]])
