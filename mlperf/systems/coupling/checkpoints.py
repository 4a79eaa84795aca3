"""What checkpoints and failures cost: Young's interval, the exact one, the factor on a run's time."""

from __future__ import annotations

import numpy as np
from scipy.special import lambertw

from mlperf.core.arrays import FloatArray

FIRST_ORDER = 1e-10
"""Below this cost over mean time between failures the best interval is Young's to ten digits, and W has lost them."""


def optimal_interval_s(checkpoint_s: FloatArray, mtbf_s: FloatArray) -> FloatArray:
    """Interval of work between checkpoints that makes :func:`checkpoint_factor` least; seconds.

    Returns
    -------
    array
        M (1 + W(-exp(-C/M - 1))) with Lambert's W: the root of the derivative of Daly (2006), A higher order estimate of the
        optimum checkpoint interval, eq. 20, which that paper expands; inf without failures, 0 where a checkpoint costs nothing.
    """
    cost, mtbf = np.broadcast_arrays(np.asarray(checkpoint_s, float), np.asarray(mtbf_s, float))
    finite = np.where(np.isfinite(mtbf), mtbf, 1.0)
    share = cost / finite
    exact = finite * (1.0 + np.real(lambertw(-np.exp(-share - 1.0))))
    found = np.where(share < FIRST_ORDER, np.sqrt(2.0 * cost * finite), exact)
    return np.asarray(np.where(np.isfinite(mtbf), found, np.inf))


def checkpoint_factor(interval_s: FloatArray, checkpoint_s: FloatArray, restart_s: FloatArray, mtbf_s: FloatArray) -> FloatArray:
    """Expected time of a run over that of its work, failures coming at random (exponential times between them).

    Parameters
    ----------
    interval_s : array
        Work between checkpoints, tau, seconds, > 0.
    checkpoint_s : array
        What of a checkpoint stops the work, C; seconds.
    restart_s : array
        From a failure to work again, R, itself exposed to failures; seconds.
    mtbf_s : array
        Mean time between failures of the whole job, M; inf: none.

    Returns
    -------
    array
        (M / tau) exp(R/M) (exp((tau + C)/M) - 1): exact; 1 + C/tau without failures.

    References
    ----------
    Daly (2006), eq. 20.
    """
    interval, cost, restart, mtbf = np.broadcast_arrays(
        *(np.asarray(each, float) for each in (interval_s, checkpoint_s, restart_s, mtbf_s))
    )
    finite = np.where(np.isfinite(mtbf), mtbf, 1.0)
    with np.errstate(over="ignore"):
        failing = finite / interval * np.exp(restart / finite) * np.expm1((interval + cost) / finite)
    return np.asarray(np.where(np.isfinite(mtbf), failing, 1.0 + cost / interval))
