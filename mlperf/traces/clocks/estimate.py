"""Constraints in, a report of offsets with bounds out."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.traces.clocks.constraints import KINDS, Constraints
from mlperf.traces.clocks.drifting import MOST_DRIFT_PPM, PPM, drifting_bounds
from mlperf.traces.clocks.fixed import FREE, fixed_bounds
from mlperf.traces.clocks.report import ClockReport

N_MOMENTS = 3


def estimate_clocks(
    found: Constraints,
    clocks: tuple[str, ...],
    span_ns: IntArray,
    *,
    reference: int = 0,
    most_drift_ppm: float = MOST_DRIFT_PPM,
) -> ClockReport:
    """Bound the offsets of clocks.

    Parameters
    ----------
    found : Constraints
        Between numbers of `clocks`.
    clocks : tuple of str
        Their names.
    span_ns : array of int64, shape (n_clocks, 2)
        First and last reading of each clock in the trace.
    reference : int
        The clock that is right.
    most_drift_ppm : float
        How far apart the speeds of two clocks may be, millionths; 0: they run alike, and bounds are exact to the nanosecond.

    Returns
    -------
    ClockReport
        With drift the bounds allow for it even where the trace could do without.
    """
    n_clocks = len(clocks)
    moments = np.stack((span_ns[:, 0], span_ns[:, 0] + (span_ns[:, 1] - span_ns[:, 0]) // 2, span_ns[:, 1]), axis=1)
    # What drift can do at most over the trace, added to every bound, turns the one model into the other.
    loose = _loosened(found, moments, most_drift_ppm)
    fixed = fixed_bounds(loose, n_clocks)
    rough = _rough(fixed.most_ns[reference], fixed.most_ns[:, reference])
    cycle, drifts = fixed.cycle, np.zeros((2, n_clocks))
    lows, highs = _beside(fixed.most_ns[reference], rough, -1, n_clocks), _beside(fixed.most_ns[:, reference], rough, 1, n_clocks)
    pairs = _half_widths(fixed.most_ns)
    if most_drift_ppm > 0 and not len(cycle):
        told = drifting_bounds(found, n_clocks, reference, moments, rough, most_drift_ppm)
        lows, highs, cycle, drifts = told.low_ns, told.high_ns, told.cycle, np.stack((told.drift_low_ppm, told.drift_high_ppm))
        width = ((highs - lows) / 2.0).max(axis=1)
        pairs = width[:, None] + width[None, :]
        np.fill_diagonal(pairs, 0.0)
    if len(cycle):
        lows, highs = np.full_like(lows, -np.inf), np.full_like(highs, np.inf)
        pairs = np.full_like(pairs, np.inf)
    return ClockReport(
        clocks=clocks,
        reference=reference,
        most_drift_ppm=most_drift_ppm,
        moments_ns=moments,
        rough_ns=rough,
        low_ns=lows,
        high_ns=highs,
        drift_low_ppm=drifts[0],
        drift_high_ppm=drifts[1],
        pair_uncertainty_ns=pairs,
        n_constraints={name: int((found.kind == kind).sum()) for kind, name in enumerate(KINDS)},
        contradiction=tuple(_sentence(found, clocks, row) for row in cycle.tolist()),
    )


def _loosened(found: Constraints, moments_ns: IntArray, most_drift_ppm: float) -> Constraints:
    """Constraints that hold for offsets at the middle of the trace whatever the drift."""
    if not most_drift_ppm:
        return found
    away = np.abs(found.earlier_ns - moments_ns[found.earlier, 1]) + np.abs(found.later_ns - moments_ns[found.later, 1])
    slack = np.ceil(away * (most_drift_ppm * PPM)).astype(np.int64)
    return Constraints(found.earlier, found.earlier_ns, found.later, found.later_ns, found.least_ns - slack, found.kind)


def _rough(behind_ns: IntArray, ahead_ns: IntArray) -> IntArray:
    """A whole offset near the middle of the bounds ``-behind`` and ``ahead``, or at the one that there is; 0 without any."""
    middles = []
    for behind, ahead in zip(behind_ns.tolist(), ahead_ns.tolist(), strict=True):
        known = [bound for bound, most in ((-behind, behind), (ahead, ahead)) if most < FREE]
        middles.append(sum(known) // len(known) if known else 0)
    return np.array(middles, dtype=np.int64)


def _beside(most_ns: IntArray, rough_ns: IntArray, sign: int, n_clocks: int) -> FloatArray:
    """Bounds beside the rough offsets at every moment, shape (n_clocks, 3); infinite where there is none."""
    free = most_ns >= FREE
    # Differences are whole: only what lies beside the rough offset becomes a float.
    bound = np.where(free, sign * np.inf, (sign * np.where(free, 0, most_ns) - rough_ns).astype(float))
    return np.repeat(bound.reshape(n_clocks, 1), N_MOMENTS, axis=1)


def _half_widths(most_ns: IntArray) -> FloatArray:
    """Half of the range of every difference of two offsets, shape (n_clocks, n_clocks)."""
    free = (most_ns >= FREE) | (most_ns.T >= FREE)
    width: FloatArray = np.where(free, np.inf, np.where(free, 0, most_ns + most_ns.T) / 2.0)
    return width


def _sentence(found: Constraints, clocks: tuple[str, ...], row: int) -> str:
    """One constraint in words."""
    one = found.take(np.array([row]))
    gap = f" by at least {one.least_ns[0]:,} ns" if one.least_ns[0] > 0 else ""
    return (
        f"{KINDS[one.kind[0]]}: {one.earlier_ns[0]:,} ns on {clocks[one.earlier[0]]} was before{gap} "
        f"{one.later_ns[0]:,} ns on {clocks[one.later[0]]}"
    )
