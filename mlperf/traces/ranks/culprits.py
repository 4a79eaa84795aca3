"""Who comes last, and whether it is always the same one, one after another, or anybody in a few bad steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mlperf.core.arrays import FloatArray, IntArray

SAME, ROTATING, FEW_STEPS = "always the same", "rotating", "a few bad steps"
NOBODY, UNSURE = "nobody", "too few steps to tell"
LEAST_SHARE = 0.5
"""A member that is the latest in fewer steps than this is not the culprit."""
MOST_BAD_STEPS = 0.25
"""More bad steps than this share are no longer a few."""
OUTLIER_SPREADS = 5.0
SPREAD_PER_MAD = 1.4826
RARE = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Culprits:
    """Who was the latest in each step.

    Attributes
    ----------
    pattern : str
        ``"always the same"``: one member is the latest in at least half of the steps and more often than by chance;
        ``"a few bad steps"``: at most a quarter of the steps bring at least half of all lateness; ``"rotating"``: no
        member is the latest in half of the steps; ``"too few steps to tell"``: one is, but as it may be by chance; ``"nobody"``: no
        member is ever late.
    leader : int
        The member that is the latest most often, by lateness where several are; -1: nobody is late.
    share_of_steps : float
        Share of all steps in which the leader is the latest.
    latest : array of int64, shape (n_steps,)
        The latest member of each step; -1 where nobody is late.
    shares : array, shape (n_members,)
        Share of all steps in which each member is the latest.
    bad_steps : array of int64
        Steps (from 0) with an outlying lateness: above the median by five spreads (1.4826 times the median deviation).
    share_in_bad_steps : float
        Share of all lateness above that of the median step which these steps bring; 0 where there is none.
    """

    pattern: str
    leader: int
    share_of_steps: float
    latest: IntArray
    shares: FloatArray
    bad_steps: IntArray
    share_in_bad_steps: float


def culprits(lateness: ArrayLike) -> Culprits:
    """Judge who is late.

    Parameters
    ----------
    lateness : array, shape (n_steps, n_members)
        How late each member is in each step, in any unit (time that it costs, or arrival behind the first); NaN where unknown.
        A member with 0 or less is not late.

    Raises
    ------
    ValueError
        There are no steps or no members.
    """
    late = np.nan_to_num(np.asarray(lateness, dtype=float), nan=0.0)
    if late.ndim != 2 or not late.size:
        raise ValueError(f"got lateness of shape {late.shape}, expected steps x members")
    n_steps, n_members = late.shape
    cost = np.maximum(late.max(axis=1), 0.0)
    latest = np.where(cost > 0, late.argmax(axis=1), -1)
    counts = np.bincount(latest[latest >= 0], minlength=n_members)
    totals = np.bincount(latest[latest >= 0], weights=cost[latest >= 0], minlength=n_members)
    leader = int(np.lexsort((totals, counts))[-1]) if counts.any() else -1
    bad, share_in_bad = bad_steps(cost)
    return Culprits(
        pattern=_pattern(counts, leader, n_steps, len(bad), share_in_bad),
        leader=leader,
        share_of_steps=float(counts[leader] / n_steps) if leader >= 0 else 0.0,
        latest=latest,
        shares=counts / n_steps,
        bad_steps=bad,
        share_in_bad_steps=share_in_bad,
    )


def bad_steps(cost: FloatArray) -> tuple[IntArray, float]:
    """Steps of an outlying cost, and the share of all cost that they bring beyond that of a median step each."""
    middle = np.median(cost)
    spread = SPREAD_PER_MAD * np.median(np.abs(cost - middle))
    bad = np.flatnonzero((cost > middle + OUTLIER_SPREADS * spread) & (cost > 0))
    total = cost.sum()
    return bad, float((cost[bad] - middle).sum() / total) if total > 0 else 0.0


def _pattern(counts: IntArray, leader: int, n_steps: int, n_bad: int, share_in_bad: float) -> str:
    """The word for it."""
    from scipy.stats import binom

    if leader < 0:
        return NOBODY
    if 0 < n_bad <= MOST_BAD_STEPS * n_steps and share_in_bad >= LEAST_SHARE:
        return FEW_STEPS
    n_late, n_members = int(counts.sum()), len(counts)
    # Of several members the luckiest one is looked at.
    by_chance = n_members * float(binom.sf(counts[leader] - 1, n_late, 1.0 / n_members)) if n_members > 1 else 0.0
    if counts[leader] < LEAST_SHARE * n_steps:
        return ROTATING
    return SAME if by_chance < RARE else UNSURE
