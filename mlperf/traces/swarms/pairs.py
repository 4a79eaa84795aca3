"""Which swarm follows which: lag, co-occurrence and order in the steps, against chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.traces.timeline.windows import Windows

NS = 1e-9
TOLERANCE = 0.35
"""A follower comes within this share of its usual lag."""
LEAST_TOLERANCE = 0.01
"""And within at least this share of a step."""
MOST_LAG = 0.5
"""What comes later than half a step after one comes before the next."""
LEAST_STEPS = 5
LEAST_SHARE = 0.6
"""A follower comes in this share of the steps that the first swarm works in."""
LEAST_ABOVE = 0.5
"""And in this share of the steps that chance leaves: what is at similar places of each step for other reasons comes in fewer."""
LEAST_RECURRING = 0.4
"""The first swarm works in this share of all steps."""
LEVEL = 0.01
"""Chance that any pair of unrelated swarms is called followers."""
MOST_ONSETS = 20
"""A swarm that begins more often in a step is always there."""
MOST_LAGS = 400
FOLLOWS = "follows"
TOGETHER = "together"
NO_ORDER = "no order"
COLUMNS = ("first", "second", "verdict", "lag_s", "lag_spread_s", "share", "together", "first_before", "p_value", "via")


@dataclass(frozen=True, slots=True, eq=False)
class Beginnings:
    """When a swarm begins to work, again and again.

    Attributes
    ----------
    name : str
    time_ns : array of int64
        Starts of its bursts, in order.
    resolution_ns : int
        They are known no better.
    """

    name: str
    time_ns: IntArray
    resolution_ns: int = 0


@dataclass(frozen=True, slots=True)
class _Follower:
    """How one swarm follows another."""

    lag_ns: float
    spread_ns: float
    share: float
    above: float
    p_value: float


def find_pairs(swarms: Sequence[Beginnings], windows: Windows) -> pd.DataFrame:
    """Test each pair of swarms for one that recurs after the other.

    Parameters
    ----------
    swarms : sequence of Beginnings
    windows : Windows
        Steps.

    Returns
    -------
    DataFrame
        One row a pair that works in the same steps, followers first: ``first, second`` (names), ``verdict`` (``"follows"``: the
        second after the first; ``"together"``: as close as can be told; ``"no order"``), ``lag_s`` and its median deviation,
        ``share`` of the first's steps in which the second comes at that lag, ``together`` (steps with both by steps with either),
        ``first_before`` (of the steps with both those in which the first begins before the second), ``p_value``, ``via`` (a swarm
        between the two that follows the first and is followed by the second, empty where there is none).

    Notes
    -----
    The lag is the one that most beginnings agree on, within 35 %. Under chance the second swarm begins as often in each step, at
    any moment of it: the number of steps with a beginning at that lag is then binomial. The chance is multiplied by the number of
    lags that could have been found and by the number of pairs (Bonferroni). What is regular without a cause, two swarms at fixed
    places of each step, has an order too: followers are what recurs, not what causes.
    """
    if len(windows) < LEAST_STEPS:
        return pd.DataFrame({name: [] for name in COLUMNS})
    usable = [each for each in swarms if 0 < len(_inside(each.time_ns, windows)[0]) <= MOST_ONSETS * len(windows)]
    n_pairs = max(len(usable) * (len(usable) - 1), 1)
    rows = []
    for place, one in enumerate(usable):
        for other in usable[place + 1 :]:
            row = _pair(one, other, windows, n_pairs)
            if row is not None:
                rows.append(row)
    found = pd.DataFrame(rows, columns=list(COLUMNS))
    found["via"] = _between(found)
    rank = found["verdict"].map({FOLLOWS: 0, TOGETHER: 1, NO_ORDER: 2})
    return found.assign(rank=rank).sort_values(["rank", "p_value"], kind="stable").drop(columns="rank").reset_index(drop=True)


def _inside(time_ns: IntArray, windows: Windows) -> tuple[IntArray, IntArray]:
    """Beginnings in steps, and the numbers of their steps."""
    step = np.searchsorted(windows.start_ns, time_ns, "right") - 1
    kept = (step >= 0) & (time_ns < windows.end_ns[np.maximum(step, 0)])
    return time_ns[kept], step[kept]


def _pair(one: Beginnings, other: Beginnings, windows: Windows, n_pairs: int) -> dict[str, object] | None:
    """A row for two swarms, the first one first; None where no step has both."""
    first, second = _inside(one.time_ns, windows), _inside(other.time_ns, windows)
    has_first, has_second = (np.isin(np.arange(len(windows)), each[1]) for each in (first, second))
    both = has_first & has_second
    if not both.any():
        return None
    resolution = max(one.resolution_ns, other.resolution_ns)
    ways = [_follower(first, second, windows, resolution), _follower(second, first, windows, resolution)]
    is_turned = ways[1].p_value < ways[0].p_value
    best = ways[int(is_turned)]
    p_value = min(best.p_value * n_pairs, 1.0)
    verdict = NO_ORDER
    recurs = (has_second if is_turned else has_first).mean() >= LEAST_RECURRING
    if recurs and p_value < LEVEL and best.share >= LEAST_SHARE and best.above >= LEAST_ABOVE:
        verdict = FOLLOWS if best.lag_ns > resolution else TOGETHER
    before = float((_first_of(first, len(windows)) < _first_of(second, len(windows)))[both].mean())
    names = (other.name, one.name) if is_turned else (one.name, other.name)
    told = (verdict, best.lag_ns * NS, best.spread_ns * NS, best.share, float(both.sum() / (has_first | has_second).sum()))
    return dict(zip(COLUMNS, (*names, *told, 1 - before if is_turned else before, p_value, ""), strict=True))


def _first_of(found: tuple[IntArray, IntArray], n_steps: int) -> IntArray:
    """First beginning in each step; the largest number where there is none."""
    first = np.full(n_steps, np.iinfo(np.int64).max)
    np.minimum.at(first, found[1], found[0])
    return first


def _follower(first: tuple[IntArray, IntArray], second: tuple[IntArray, IntArray], windows: Windows, resolution: int) -> _Follower:
    """The lag that most beginnings of a second swarm agree on, and how likely chance does as well."""
    length = (windows.end_ns - windows.start_ns).astype(float)
    usual = float(np.median(length))
    lags, of_first = _lags(first[0], second[0], int(MOST_LAG * usual))
    none = _Follower(float("nan"), float("nan"), 0.0, 0.0, 1.0)
    if not len(lags):
        return none
    least = max(float(resolution), LEAST_TOLERANCE * usual)
    lag = _agreed(lags, least, len(first[0]), len(second[0]) / float(length.sum()))
    tolerance = max(TOLERANCE * lag, least)
    near = np.abs(lags - lag) <= tolerance
    steps, n_own = np.unique(first[1], return_counts=True)
    hits = np.bincount(first[1][np.unique(of_first[near])], minlength=len(length))[steps]
    is_hit: BoolArray = 2 * hits >= n_own
    width = min(2 * tolerance, lag + tolerance)
    density = np.bincount(second[1], minlength=len(length))[steps] / length[steps]
    p_value, by_chance = _chance(int(is_hit.sum()), np.minimum(density * width, 1.0), n_own)
    looks = max(MOST_LAG * usual / (2 * tolerance), 1.0)
    middle = float(np.median(lags[near]))
    spread, share = float(np.median(np.abs(lags[near] - middle))), float(is_hit.mean())
    above = (share - by_chance) / (1 - by_chance) if by_chance < 1 else 0.0
    return _Follower(middle, spread, share, above, min(p_value * looks, 1.0))


def _chance(n_hits: int, chance: FloatArray, n_own: IntArray) -> tuple[float, float]:
    """Probability of as many steps in which at least half of the beginnings have a follower that comes with such a chance.

    And the share of steps that have by chance.

    Steps differ in theirs; a binomial with the mean has a tail that is no lighter (Hoeffding 1956).
    """
    from scipy.stats import binom

    of_step = binom.sf((n_own + 1) // 2 - 1, n_own, chance)
    mean = float(of_step.mean())
    return float(binom.sf(n_hits - 1, len(of_step), mean)), mean


def _lags(first: IntArray, second: IntArray, most: int) -> tuple[FloatArray, IntArray]:
    """Distances from each beginning of the first to those of the second up to a limit later, and which of the first they are of."""
    low, high = np.searchsorted(second, first, "left"), np.searchsorted(second, first + most, "right")
    count = high - low
    of_first = np.repeat(np.arange(len(first)), count)
    within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return (second[np.repeat(low, count) + within] - first[of_first]).astype(float), of_first


def _agreed(lags: FloatArray, least: float, n_first: int, per_ns: float) -> float:
    """The lag with most others near it, compared with what chance puts there."""
    ordered = np.sort(lags)
    tried = ordered if len(ordered) <= MOST_LAGS else ordered[np.linspace(0, len(ordered) - 1, MOST_LAGS).astype(int)]
    tolerance = np.maximum(TOLERANCE * tried, least)
    counts = np.searchsorted(ordered, tried + tolerance, "right") - np.searchsorted(ordered, tried - tolerance, "left")
    expected = n_first * per_ns * np.minimum(2 * tolerance, tried + tolerance)
    return float(tried[np.argmax((counts - expected) / np.sqrt(expected + 1.0))])


def _between(found: pd.DataFrame) -> list[str]:
    """For each pair of followers a swarm that comes between them."""
    ends = list(zip(found["first"].astype(str), found["second"].astype(str), strict=True))
    follows = (found["verdict"] == FOLLOWS).tolist()
    lag = {pair: float(lag_s) for pair, lag_s, kept in zip(ends, found["lag_s"], follows, strict=True) if kept}
    via = []
    for pair in ends:
        own = lag.get(pair, 0.0)
        names = [middle for first, middle in lag if first == pair[0] and lag[first, middle] < own and (middle, pair[1]) in lag]
        via.append(max(names, key=lambda name, first=pair[0]: lag[first, name], default=""))  # type: ignore[misc]
    return via


def synchronisations(pairs: pd.DataFrame, compute: Sequence[str], network: Sequence[str]) -> tuple[str, ...]:
    """Swarms that recur after work of a device and after work of the network: parameters may be synchronised there.

    Parameters
    ----------
    pairs : DataFrame
        Of `find_pairs`.
    compute, network : sequence of str
        Names of swarms with such work.
    """
    follows = pairs[pairs["verdict"] == FOLLOWS]
    after_compute = set(follows.loc[follows["first"].isin(list(compute)), "second"])
    after_network = set(follows.loc[follows["first"].isin(list(network)), "second"])
    own = {*compute, *network}
    return tuple(name for name in dict.fromkeys(follows["second"]) if name in after_compute & after_network and name not in own)
