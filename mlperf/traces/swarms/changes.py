"""What changed between the swarms of two runs: which is which, what moved, appeared, vanished."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.traces.swarms.swarms import Swarms

SAMPLED = ("processor", "python")
LEAST_SIMILARITY = 0.1
"""Swarms that have less in common are not the same."""
NAME_WEIGHT = 0.5
"""What having one keyword's name counts: another processor's library has other functions for the same work."""
LEAST_CHANGE = 0.05
ERRORS = 2.0
"""A change of fewer standard errors of the samples' number may be chance."""
APPEARED, VANISHED, MORE, LESS, AS_BEFORE = "appeared", "vanished", "more", "less", "as before"
COLUMNS = ("first", "second", "place", "similarity", "time_first_s", "time_second_s", "change_s", "moved_in_s", "difference")
Symbol = tuple[str, str]
_LINE = re.compile(r":\d+\)$")
_NUMBER = re.compile(r"\d{3,}")
"""Process numbers and hashes in names of files: others in every run."""


def swarm_changes(first: Swarms, second: Swarms, passes: tuple[int, int] = (1, 1)) -> pd.DataFrame:
    """Set the swarms of two runs side by side.

    Parameters
    ----------
    first, second : Swarms
    passes : tuple of int
        Steps of each run; times are divided by them.

    Returns
    -------
    DataFrame
        One row a swarm, the largest change first: ``first, second`` (names, empty where there is none), ``place``, ``similarity``
        (of what it consists of: weighted Jaccard, 0 to 1), ``time_first_s, time_second_s, change_s`` (a step), ``moved_in_s`` (of
        the second's time that of functions which belonged to another swarm before), ``difference`` (appeared, vanished, more,
        less, as before: within 5 % or two standard errors of the number of samples).

    Notes
    -----
    Swarms are matched so that the similarities add up to the most (Hungarian method), by place. The similarity compares shares of a
    swarm's time, so that a swarm that only became slower is the same; functions are known
    by name and file, never by line or address.
    """
    rows: list[dict[str, object]] = []
    for place in dict.fromkeys((*first.swarms["place"], *second.swarms["place"])):
        rows += _place_changes(first, second, str(place), passes)
    found = pd.DataFrame(rows, columns=list(COLUMNS))
    return found.iloc[np.argsort(-found["change_s"].abs().to_numpy(float), kind="stable")].reset_index(drop=True)


def _place_changes(first: Swarms, second: Swarms, place: str, passes: tuple[int, int]) -> list[dict[str, object]]:
    """Rows of the swarms of one place."""
    from scipy.optimize import linear_sum_assignment

    swarms = [each.swarms[each.swarms["place"] == place].to_dict("records") for each in (first, second)]
    members = [[_members(each, int(row["swarm"])) for row in own] for each, own in zip((first, second), swarms, strict=True)]
    alike = np.array([[similarity(one, other) for other in members[1]] for one in members[0]]).reshape(
        len(swarms[0]), len(swarms[1])
    )
    named = np.array([[_same_rule(one, other) for other in swarms[1]] for one in swarms[0]]).reshape(alike.shape)
    ones, others = linear_sum_assignment(-(alike + NAME_WEIGHT * named))
    score = (alike + NAME_WEIGHT * named)[ones, others]
    partner = {int(one): int(other) for one, other, own in zip(ones, others, score, strict=True) if own >= LEAST_SIMILARITY}
    rows = []
    for at, row in enumerate(swarms[0]):
        other = swarms[1][partner[at]] if at in partner else None
        likeness = float(alike[at, partner[at]]) if at in partner else 0.0
        moved = _moved(members[0][at], members[1][partner[at]]) if at in partner else 0.0
        rows.append(_row(row, other, place, likeness, moved, passes))
    left = [row for at, row in enumerate(swarms[1]) if at not in partner.values()]
    known = {symbol for own in members[0] for symbol in own}
    for row in left:
        share = [own for symbol, own in _members(second, int(row["swarm"])).items() if symbol in known]
        rows.append(_row(None, row, place, 0.0, sum(share), passes))
    return rows


def _members(found: Swarms, swarm: int) -> dict[Symbol, float]:
    """Shares of a swarm's functions, threads joined."""
    own = found.functions[found.functions["swarm"] == swarm]
    shares: dict[Symbol, float] = {}
    for function, file, share in zip(own["function"], own["file"], own["share"], strict=True):
        symbol = (_plain(str(function)), _plain_file(str(file)))
        shares[symbol] = shares.get(symbol, 0.0) + float(share)
    return shares


def similarity(one: Mapping[Symbol, float], other: Mapping[Symbol, float]) -> float:
    """Weighted Jaccard index: what two have in common by what either has; 0 where neither has anything.

    Examples
    --------
    >>> similarity({("f", "a"): 1.0}, {("f", "a"): 0.5, ("g", "a"): 0.5})
    0.3333333333333333
    """
    symbols = {*one, *other}
    both = sum(min(one.get(symbol, 0.0), other.get(symbol, 0.0)) for symbol in symbols)
    either = sum(max(one.get(symbol, 0.0), other.get(symbol, 0.0)) for symbol in symbols)
    return both / either if either else 0.0


def _same_rule(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> float:
    """1 for two swarms of one keyword's rule."""
    return float(one["name"] == other["name"] and one["found_by"] == other["found_by"] == "keyword")


def _moved(one: Mapping[Symbol, float], other: Mapping[Symbol, float]) -> float:
    """Share of a swarm's time in functions that its former self had not."""
    return sum(share for symbol, share in other.items() if symbol not in one)


def _row(
    one: Mapping[Any, Any] | None,
    other: Mapping[Any, Any] | None,
    place: str,
    likeness: float,
    moved: float,
    passes: tuple[int, int],
) -> dict[str, object]:
    """A swarm of both runs, or of one."""
    time = [_number(row, "time_s") / max(n, 1) for row, n in zip((one, other), passes, strict=True)]
    events = [_number(row, "n_events") for row in (one, other)]
    if one is None or other is None:
        word = VANISHED if other is None else APPEARED
    else:
        word = _word(time, events, is_sampled=place in SAMPLED)
    names = ("" if one is None else one["name"], "" if other is None else other["name"])
    return dict(zip(COLUMNS, (*names, place, likeness, *time, time[1] - time[0], moved * time[1], word), strict=True))


def _number(row: Mapping[Any, Any] | None, name: str) -> float:
    """A number of a swarm, 0 where it is not there."""
    return float(row[name]) if row is not None else 0.0


def _word(time: list[float], events: list[float], *, is_sampled: bool) -> str:
    """More, less, or as before as far as samples can tell."""
    change = time[1] - time[0]
    errors = [own / np.sqrt(n) if is_sampled and n else 0.0 for own, n in zip(time, events, strict=True)]
    limit = max(LEAST_CHANGE * time[0], ERRORS * float(np.hypot(errors[0], errors[1])))
    return AS_BEFORE if abs(change) <= limit else MORE if change > 0 else LESS


def _plain(function: str) -> str:
    """A function without the line that it stands in, which moves when its file is edited."""
    return _LINE.sub(")", function)


def _plain_file(file: str) -> str:
    """A file's own name without numbers that differ from run to run."""
    return _NUMBER.sub("#", file.rpartition("/")[2])


def function_changes(first: Swarms, second: Swarms, passes: tuple[int, int] = (1, 1)) -> pd.DataFrame:
    """Functions of two runs side by side.

    Returns
    -------
    DataFrame
        ``function, file, place, time_first_s, time_second_s, change_s`` (a step), the largest change first.
    """
    key = ["function", "file", "place"]
    sides = []
    for each, n in zip((first, second), passes, strict=True):
        names = {"function": each.functions["function"].map(_plain), "file": each.functions["file"].map(_plain_file)}
        sides.append(each.functions.assign(**names).groupby(key)["time_s"].sum() / max(n, 1))
    found = pd.concat(sides, axis=1, keys=["time_first_s", "time_second_s"]).fillna(0.0).reset_index()
    change: FloatArray = (found["time_second_s"] - found["time_first_s"]).to_numpy(float)
    return found.assign(change_s=change).iloc[np.argsort(-np.abs(change), kind="stable")].reset_index(drop=True)
