"""How much longer a pipeline takes when the time of its passes varies: stages wait for one another at every micro-batch."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.systems.coupling.barrier import largest_normal
from mlperf.systems.coupling.probabilities import expected_excess
from mlperf.systems.coupling.schedules import GPIPE, SCHEDULES

RATE, RATE_PER_DOUBLING, DELAY, DELAY_PER_DOUBLING = 1.08, 0.10, 1.46, 0.52
SHOP, SHOP_EDGE = 1.86, 0.50
TOGETHER = 0.83
LARGEST_VARIANCE = 0.82


def jitter_excess_s(
    forward_std_s: FloatArray,
    backward_std_s: FloatArray,
    n_stages: FloatArray,
    m: FloatArray,
    schedule: FloatArray | int,
    gap_s: FloatArray | float = 0.0,
) -> FloatArray:
    """Mean makespan of passes that vary, less the makespan of their means.

    Parameters
    ----------
    forward_std_s, backward_std_s : array
        Standard deviations of one pass of one micro-batch through a stage, independent of one another; seconds.
    n_stages, m : array
        Stages s, micro-batches.
    schedule : array or int
        Places in `mlperf.systems.coupling.schedules.SCHEDULES`.
    gap_s : array or float
        How much longer the slowest stage takes for both passes than the others: the others then seldom delay it.

    Returns
    -------
    array
        Seconds; 0 for one stage or one micro-batch. 1F1B: few micro-batches are in flight, so that stages keep step and pay nearly
        the slowest of s for each: sigma e_s (1.08 - 0.10 log2 s) max(m - 1.46 - 0.52 log2 s, 0). GPipe: two flow shops with
        room for all micro-batches, whose last-passage times grow with the root: 1.86 (sigma_f + sigma_b) sqrt((s-1)(m-1))
        (1 - 0.5/sqrt(min) - 0.5/sqrt(max)).

    Notes
    -----
    Forms from theory (largest of s; Glynn and Whitt, 1991: departures from many queues), the numbers from simulated schedules of s
    2 to 32, m 2 to 128: within 3 % of a step times the coefficient of variation. Interleaved schedules are taken as 1F1B.
    """
    first, second = np.asarray(forward_std_s, float), np.asarray(backward_std_s, float)
    s, micro = np.asarray(n_stages, float), np.asarray(m, float)
    sigma, doublings = np.hypot(first, second), np.log2(s)
    rate, delay = RATE - RATE_PER_DOUBLING * doublings, DELAY + DELAY_PER_DOUBLING * doublings
    in_step = sigma * largest_normal(s) * np.maximum(rate, 0.0) * np.maximum(micro - delay, 0.0)
    short, long = np.minimum(s, micro), np.maximum(s, micro)
    edges = 1.0 - SHOP_EDGE / np.sqrt(short) - SHOP_EDGE / np.sqrt(long)
    shop = SHOP * (first + second) * np.sqrt((s - 1.0) * (micro - 1.0)) * edges
    found = np.where(np.asarray(schedule) == SCHEDULES.index(GPIPE), shop, in_step)
    return np.asarray(found * _delayed(sigma, s, np.asarray(gap_s, float)))


def makespan_std_s(forward_std_s: FloatArray, backward_std_s: FloatArray, n_stages: FloatArray, m: FloatArray) -> FloatArray:
    """Standard deviation of a makespan: that of the m + s - 1 passes of one path, a sixth less where paths compete; seconds."""
    s = np.asarray(n_stages, float)
    return np.asarray(np.where(s > 1.0, TOGETHER, 1.0) * np.hypot(forward_std_s, backward_std_s) * np.sqrt(m + s - 1.0))


def _delayed(sigma: FloatArray, s: FloatArray, gap_s: FloatArray) -> FloatArray:
    # Share of the excess that is left when the others are faster by the gap: E max(slowest stage, largest of s-1 others).
    others = np.maximum(s - 1.0, 1.0)
    spread = sigma * np.sqrt(1.0 + 1.0 / (1.0 + LARGEST_VARIANCE * np.log(others)))
    ahead = sigma * largest_normal(others)
    even = expected_excess(ahead, spread)
    return np.asarray(np.where(even > 0.0, expected_excess(ahead - gap_s, spread) / np.where(even > 0.0, even, 1.0), 1.0))
