"""Assumptions of a user about operations of a job: which, and what becomes of their times or of the gaps before them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.core.durations import number_in
from mlperf.core.errors import UsageError
from mlperf.core.suggest import did_you_mean, nearest_hint
from mlperf.traces.ranks.job_graph import JobGraph
from mlperf.traces.ranks.job_grid import JobGrid
from mlperf.traces.ranks.job_groups import TYPE, operation_columns
from mlperf.traces.ranks.job_times import JobTimes, replay
from mlperf.traces.ranks.operations import OPERATION_KINDS

TIME, GAP, TYPICAL = "time", "gap", "typical"
GRAMMAR = re.compile(r"\s*(?P<what>\w+)\s*\((?P<where>[^()]*)\)\s*=\s*(?P<value>\S+)\s*")
NUMBERS = ("dp_rank", "stage", "rank", "sequence", "step")
KEYS = (*NUMBERS, TYPE)
LARGEST_FACTOR = 1e3
HINT = "Such as time(stage=3)=typical, time(operation=forward-compute, dp_rank=0:1)=x0.8, gap(rank=4)=0."


@dataclass(frozen=True, slots=True)
class Assumption:
    """One assumption.

    Attributes
    ----------
    text : str
        As the user wrote it.
    what : str
        ``"time"``, an operation's own; or ``"gap"``, between what it follows and its start.
    where : tuple of (str, str)
        Key and values of each condition; all must hold.
    factor : float
        The times are multiplied by it; NaN: they become the typical time of their kind.
    """

    text: str
    what: str
    where: tuple[tuple[str, str], ...]
    factor: float


def parse_assumption(text: str) -> Assumption:
    """Read ``what(key=values, ...)=value``.

    Parameters
    ----------
    text : str
        ``what`` is ``time`` or ``gap``; keys are ``dp_rank``, ``stage``, ``rank``, ``sequence``, ``step`` and ``operation``; values
        are numbers, ranges with both ends (``0:3``) or names, separated by ``|``; the value is ``typical`` (of times), ``0``, or
        a factor, ``x0.8``. Without keys everything is meant.

    Raises
    ------
    UsageError
        It is not of that form.
    """
    found = GRAMMAR.fullmatch(text)
    if found is None or found["what"] not in (TIME, GAP):
        raise UsageError(f"got the assumption {text!r}, expected time(...)=... or gap(...)=...", hint=HINT)
    where = []
    for condition in filter(None, (part.strip() for part in found["where"].split(","))):
        key, equals, values = (part.strip() for part in condition.partition("="))
        if key not in KEYS or not equals or not values:
            raise UsageError(
                f"got {condition!r} in the assumption {text!r}, expected one of {', '.join(KEYS)} with a value",
                hint=nearest_hint(key, KEYS) or HINT,
            )
        where.append((key, values))
    return Assumption(text, found["what"], tuple(where), _factor(found["value"], found["what"], text))


def _factor(value: str, what: str, text: str) -> float:
    """The factor that a value means; NaN for the typical time."""
    if value == TYPICAL and what == TIME:
        return math.nan
    factor = 0.0 if value == "0" else number_in(value.removeprefix("x")) if value.startswith("x") else math.nan
    if not 0.0 <= factor <= LARGEST_FACTOR:
        expected = "0 or a factor such as x0.8" + (" or typical" if what == TIME else "")
        raise UsageError(f"got the value {value!r} in the assumption {text!r}, expected {expected}", hint=HINT)
    return factor


def chosen(one: Assumption, grid: JobGrid) -> tuple[BoolArray, BoolArray]:
    """Operations and steps that an assumption means, shapes (n_operations,) and (n_steps,).

    Raises
    ------
    UsageError
        No operation or no step of the job is meant.
    """
    columns = operation_columns(grid)
    columns["rank"] = grid.rank[columns["dp_rank"], columns["stage"]]
    operations, steps = np.ones(len(columns[TYPE]), dtype=bool), np.ones(len(grid.steps), dtype=bool)
    for key, values in one.where:
        if key == TYPE:
            operations &= np.isin(columns[TYPE], _named(values, grid, one))
        elif key == "step":
            steps &= _within(grid.steps, values, one)
        else:
            operations &= _within(columns[key], values, one)
    if not operations.any() or not steps.any():
        nothing = "operations" if not operations.any() else "steps"
        raise UsageError(f"the assumption {one.text!r} means no {nothing} of the job", hint=_what_there_is(grid))
    return operations, steps


def _named(values: str, grid: JobGrid, one: Assumption) -> list[int]:
    """Numbers of the operations of some names or types."""
    known = {name: OPERATION_KINDS[name].type for name in grid.names}
    numbers = []
    for value in (part.strip() for part in values.split("|")):
        if value not in known and value not in known.values():
            names = sorted({*known, *known.values()})
            raise UsageError(
                f"got operation {value!r} in the assumption {one.text!r}",
                hint=did_you_mean(value, names) or f"One of {', '.join(names)}.",
            )
        numbers += [number for number, name in enumerate(grid.names) if value in (name, known[name])]
    return numbers


def _within(column: IntArray, values: str, one: Assumption) -> BoolArray:
    """Entries that are one of some numbers, or in one of some ranges."""
    found = np.zeros(len(column), dtype=bool)
    for value in (part.strip() for part in values.split("|")):
        match = re.fullmatch(r"(\d{1,12})(?::(\d{1,12}))?", value, re.ASCII)
        if match is None:
            raise UsageError(f"got {value!r} in the assumption {one.text!r}, expected a number or a range such as 0:3", hint=HINT)
        found |= (column >= int(match[1])) & (column <= int(match[2] or match[1]))
    return found


def _what_there_is(grid: JobGrid) -> str:
    """What a condition may name."""
    return (
        f"The job has dp_rank 0 to {grid.data_parallel - 1}, stage 0 to {grid.pipeline - 1}, "
        f"steps {grid.steps[0]} to {grid.steps[-1]}."
    )


def any_gaps(assumptions: tuple[Assumption, ...]) -> bool:
    """Whether one of the assumptions is about gaps, so that gaps must be kept."""
    return any(one.what == GAP for one in assumptions)


def assumed_step_ns(
    grid: JobGrid, graph: JobGraph, times: JobTimes, assumptions: tuple[Assumption, ...], *, gaps: bool
) -> IntArray:
    """Step times under some assumptions together, the later ones on what the earlier ones left, shape (n_steps,).

    With ``gaps`` every gap is kept, else all are 0.
    """
    gap, own = times.gap_ns * gaps, times.own_ns.copy()
    for one in assumptions:
        operations, steps = chosen(one, grid)
        cells = np.ix_(np.flatnonzero(operations), np.flatnonzero(steps))
        if math.isnan(one.factor):
            own[cells] = times.typical_ns[operations][:, None]
        else:
            target = own if one.what == TIME else gap
            target[cells] = np.rint(target[cells] * one.factor).astype(np.int64)
    return replay(graph, gap, own)
