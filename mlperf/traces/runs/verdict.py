"""What an interval of a ratio decides, and how much more measuring would."""

from __future__ import annotations

import math

from mlperf.traces.runs.ratio import LEVEL, Ratio

FASTER, SLOWER, BETTER, WORSE, SAME, INCONCLUSIVE = "faster", "slower", "better", "worse", "no difference", "inconclusive"
POWER = 0.8
"""Chance with which the blocks that are named will decide."""
MOST_BLOCKS = 10_000


def verdict(ratio: Ratio, margin: float, *, higher_is_better: bool = False, is_time: bool = True) -> str:
    """What B is, compared with A.

    Parameters
    ----------
    ratio : Ratio
        B / A.
    margin : float
        Ratios from 1 / (1 + margin) to 1 + margin make no difference; 0: every difference counts.
    higher_is_better : bool
        What was measured is a rate.
    is_time : bool
        Whether better is called faster.

    Returns
    -------
    str
        ``no difference`` where the interval lies inside the margin (two one-sided tests; at a level of 95 % each at 2.5 %);
        ``faster`` or ``slower`` (``better`` or ``worse``) where it lies on one side of 1; else ``inconclusive``.
    """
    if math.isnan(ratio.low):
        return INCONCLUSIVE
    if margin > 0 and ratio.low >= 1 / (1 + margin) and ratio.high <= 1 + margin:
        return SAME
    if ratio.low <= 1 <= ratio.high:
        return INCONCLUSIVE
    good, bad = (FASTER, SLOWER) if is_time else (BETTER, WORSE)
    return good if (ratio.low > 1) == higher_is_better else bad


def more_blocks(ratio: Ratio, margin: float, level: float = LEVEL) -> int | None:
    """How many more blocks would decide, if ratio and spread stay what they are.

    The interval must come off 1, or fit into the margin, whichever takes less.

    Returns
    -------
    int or None
        None where no number of up to 10,000 blocks would, or nothing is known of the spread.

    Notes
    -----
    The ratio hardly stays where noise made it: where the true one is nearer to 1 or to the margin than that which was measured, as
    many more decide 21 to 70 % of the comparisons, not 80 (drawn, blocks that scatter by 3 and 10 %): `more_blocks_at_most`.
    """
    if math.isnan(ratio.ratio):
        return None
    distance = abs(math.log(ratio.ratio))
    return _more(ratio, max(distance, math.log1p(margin) - distance), level)


def more_blocks_at_most(ratio: Ratio, margin: float, level: float = LEVEL) -> int | None:
    """How many more blocks would decide whatever the ratio is, if the spread stays what it is.

    The hardest ratio lies half-way between 1 and the margin.

    Returns
    -------
    int or None
        As `more_blocks`; None for a margin of 0, since then a ratio of 1 is never decided.
    """
    return _more(ratio, math.log1p(margin) / 2, level)


def _more(ratio: Ratio, gap: float, level: float) -> int | None:
    """Blocks until (t(level) + t(0.8)) s / sqrt(n) <= gap, with the standard deviation s of one block: a chance of 80 %."""
    from scipy.special import stdtrit

    if ratio.n < 2 or math.isnan(ratio.spread) or gap <= 0:
        return None
    deviation = ratio.spread * math.sqrt(ratio.n)
    n = ratio.n + 1
    while n <= MOST_BLOCKS:
        quantiles = float(stdtrit(n - 1, 0.5 + level / 2) + stdtrit(n - 1, POWER))
        if quantiles * deviation / math.sqrt(n) <= gap:
            return n - ratio.n
        n = max(n + 1, int(n * 1.01))
    return None
