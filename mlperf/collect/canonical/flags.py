"""What looks wrong in measured constants: sanity rules, each a sentence with the numbers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

HALF_WIDTH = 0.02
"""Half-width of the median over rounds, as a share of it, above which a loop counts as unstable."""

FALL = 0.85
"""A multiply-add in memory may cost this share of one in the cache before it is called odd: rounds differ by as much."""

EFFICIENCY_FALL = 0.95


def canonical_flags(rows: pd.DataFrame) -> tuple[str, ...]:
    """Sentences about loops that were unstable, grew faster with the working set, or lose by a further process.

    Parameters
    ----------
    rows : DataFrame
        The table ``canonical``.
    """
    return (*unstable(rows), *falling_cost(rows), *falling_gain(rows))


def unstable(rows: pd.DataFrame) -> list[str]:
    """How many loops' medians are known to less than `HALF_WIDTH`."""
    alone = rows[(rows["n_threads"] == 1) & (rows["round"] > 0)]
    grouped = alone.groupby(["kind", "pass", "n_connections", "n_neurons"])["time_s"]
    # 1.25 standard errors of the mean are one of the median; 1.96 of them its half-width.
    spread, size, middle = (np.asarray(each, dtype=float) for each in (grouped.std(ddof=1), grouped.size(), grouped.median()))
    half = 1.96 * 1.25 * spread / np.sqrt(size) / middle
    n_wide = int(np.sum(half > HALF_WIDTH))
    if not n_wide:
        return []
    worst = f"(worst {np.nanmax(half):.0%})"
    return [f"{n_wide} of {len(half)} loops vary by more than 2 % of their median {worst}: measure on an idle machine"]


def falling_cost(rows: pd.DataFrame) -> list[str]:
    """Whether a multiply-add costs less where the working set is larger."""
    dense = rows[(rows["kind"] == "fc") & (rows["n_threads"] == 1) & (rows["round"] > 0)]
    found = []
    for direction, part in dense.groupby("pass"):
        cost = part.assign(cost_s=part["time_s"] / part["n_connections"]).groupby("working_set_bytes")["cost_s"].median()
        half = len(cost) // 2
        if half and cost.iloc[half:].median() < FALL * cost.iloc[:half].median():
            found.append(f"fc {direction}: a multiply-add costs less in larger working sets: calls outweigh work in the small ones")
    return found


def falling_gain(rows: pd.DataFrame) -> list[str]:
    """Whether H / C_interf(H) falls: a further process then costs more than it does."""
    together = rows[(rows["n_threads"] > 1) | (rows["round"] == 0)]
    gain = {1: 1.0}
    for count, part in together[together["n_threads"] > 1].groupby("n_threads"):
        alone = together[(together["n_threads"] == 1) & together["sequence"].isin(part["sequence"])]
        both = part.merge(alone, on=["kind", "pass", "n_connections", "n_neurons", "sequence"], suffixes=("", "_alone"))
        gain[int(str(count))] = int(str(count)) / float((both["time_s"] / both["time_s_alone"]).median())
    counts = sorted(gain)
    return [
        f"{more} processes do {gain[more]:.2f} times the work of one, {fewer} did {gain[fewer]:.2f} times: too few cores"
        for fewer, more in pairwise(counts)
        if gain[more] < EFFICIENCY_FALL * gain[fewer]
    ]
