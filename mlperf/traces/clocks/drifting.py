"""Bounds of clock offsets where clocks drift: two linear programs for every clock and moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import FitError
from mlperf.traces.clocks.constraints import Constraints, shifted
from mlperf.traces.clocks.hulls import binding

MOST_DRIFT_PPM = 200.0
NS_PER_US = 1000.0
PPM = 1e-6
SLACK_NS = 1.0
"""What the solver's arithmetic may be wrong, outwards."""
OPTIMAL, INFEASIBLE, UNBOUNDED = 0, 2, 3
BINDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class DriftBounds:
    """Bounds of the offsets at some moments.

    Attributes
    ----------
    low_ns, high_ns : array, shape (n_clocks, n_moments)
        Offset of each clock at each moment beside the rough one, nanoseconds; infinite where nothing bounds it. Between two moments
        the straight line bounds it too: the largest offset is a convex function of time, the smallest a concave one.
    drift_low_ppm, drift_high_ppm : array, shape (n_clocks,)
        Bounds of the drift against the reference clock, millionths.
    cycle : array of int64
        Rows of constraints that contradict each other; empty: none do.
    """

    low_ns: FloatArray
    high_ns: FloatArray
    drift_low_ppm: FloatArray
    drift_high_ppm: FloatArray
    cycle: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class _Program:
    """``matrix @ (offsets in us, drifts in ppm) <= most``, offsets beside the rough ones; and the limits of each unknown."""

    matrix: Any
    most_us: FloatArray
    limits: list[tuple[float | None, float | None]]
    rows: IntArray


def drifting_bounds(
    found: Constraints, n_clocks: int, reference: int, moments_ns: IntArray, rough_ns: IntArray, most_ppm: float = MOST_DRIFT_PPM
) -> DriftBounds:
    """Bound every clock's offset at some moments, each clock running at its own constant speed.

    Parameters
    ----------
    found : Constraints
        As the clocks show their moments.
    n_clocks, reference : int
        The reference clock has offset and drift 0.
    moments_ns : array of int64, shape (n_clocks, n_moments)
        Moments as each clock shows them, rising.
    rough_ns : array of int64, shape (n_clocks,)
        Rough offsets; bounds are given beside them, which keeps the numbers of the program small.
    most_ppm : float
        Largest drift of a clock against the reference, millionths.

    Notes
    -----
    t_reference = t + a + r (t - centre) for every clock, a and r unknown, abs(r) <= most_ppm; centre is the middle of its moments.
    """
    centre = (moments_ns[:, 0] + moments_ns[:, -1]) // 2
    program = _program(found, n_clocks, reference, (rough_ns, centre), most_ppm)
    low, high = np.zeros(moments_ns.shape), np.zeros(moments_ns.shape)
    drift_low, drift_high = np.zeros(n_clocks), np.zeros(n_clocks)
    cycle = contradiction(program)
    for clock in range(n_clocks if not len(cycle) else 0):
        if clock == reference:
            continue
        for at, moment in enumerate((moments_ns[clock] - centre[clock]).tolist()):
            ends = _ends(program, n_clocks, clock, 1.0, moment * PPM / NS_PER_US)
            low[clock, at], high[clock, at] = ends[0] * NS_PER_US - SLACK_NS, ends[1] * NS_PER_US + SLACK_NS
        drift_low[clock], drift_high[clock] = _ends(program, n_clocks, clock, 0.0, 1.0)
    return DriftBounds(low, high, drift_low, drift_high, cycle)


def _program(found: Constraints, n_clocks: int, reference: int, zeros_ns: tuple[IntArray, IntArray], most_ppm: float) -> _Program:
    """The constraints on the hulls as rows of a linear program; ``zeros_ns``: rough offset and centre of every clock."""
    from scipy.sparse import csr_array

    rough_ns, centre_ns = zeros_ns
    rows = binding(shifted(found, rough_ns), n_clocks)
    part = found.take(rows)
    at = np.arange(len(rows))
    passed = (
        (part.earlier_ns - centre_ns[part.earlier]) * (PPM / NS_PER_US),
        (part.later_ns - centre_ns[part.later]) * (PPM / NS_PER_US),
    )
    values = np.concatenate((np.ones(len(rows)), -np.ones(len(rows)), passed[0], -passed[1]))
    columns = np.concatenate((part.earlier, part.later, n_clocks + part.earlier, n_clocks + part.later))
    matrix = csr_array((values, (np.tile(at, 4), columns)), shape=(len(rows), 2 * n_clocks))
    limits: list[tuple[float | None, float | None]] = [(None, None)] * n_clocks + [(-most_ppm, most_ppm)] * n_clocks
    limits[reference] = limits[n_clocks + reference] = (0.0, 0.0)
    return _Program(matrix, shifted(part, rough_ns).bound_ns / NS_PER_US, limits, rows)


def _ends(program: _Program, n_clocks: int, clock: int, offset: float, drift: float) -> tuple[float, float]:
    """Smallest and largest value of ``offset * a + drift * r`` of one clock."""
    goal = np.zeros(2 * n_clocks)
    goal[clock], goal[n_clocks + clock] = offset, drift
    return _smallest(program, goal), -_smallest(program, -goal)


def _smallest(program: _Program, goal: FloatArray) -> float:
    """Smallest value of a linear function under the constraints; minus infinity where nothing bounds it."""
    from scipy.optimize import linprog

    solved = linprog(goal, A_ub=program.matrix, b_ub=program.most_us, bounds=program.limits, method="highs")
    if solved.status == UNBOUNDED:
        return -np.inf
    if solved.status != OPTIMAL:
        raise FitError(f"a linear program of clock offsets was not solved: {solved.message}", hint="Align without drift.")
    return float(solved.fun)


def contradiction(program: _Program) -> IntArray:
    """Constraints that cannot hold together, as numbers of rows; empty where all can.

    They are those with a multiplier in the program that asks for the least violation: weighted by it they add up to a sum that
    cannot be.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack

    n_rows, n_unknown = program.matrix.shape
    if not n_rows:
        return program.rows
    elastic = hstack((program.matrix, csr_array(-np.ones((n_rows, 1)))), format="csr")
    goal = np.concatenate((np.zeros(n_unknown), [1.0]))
    solved = linprog(goal, A_ub=elastic, b_ub=program.most_us, bounds=[*program.limits, (0.0, None)], method="highs")
    if solved.status != OPTIMAL:
        raise FitError(f"a linear program of clock offsets was not solved: {solved.message}", hint="Align without drift.")
    if solved.fun * NS_PER_US <= SLACK_NS:
        return np.empty(0, dtype=np.int64)
    return np.asarray(program.rows[np.abs(solved.ineqlin.marginals) > BINDING])
