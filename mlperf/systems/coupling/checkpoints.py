"""What checkpoints and failures cost: Young's and Daly's intervals, the factor on a run's time."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import FloatArray


def young_interval_s(checkpoint_s: FloatArray, mtbf_s: FloatArray) -> FloatArray:
    """Interval of work between checkpoints that costs least to first order, sqrt(2 C MTBF); seconds (Young, 1974)."""
    return np.asarray(np.sqrt(2.0 * np.asarray(checkpoint_s, float) * mtbf_s))


def daly_interval_s(checkpoint_s: FloatArray, mtbf_s: FloatArray) -> FloatArray:
    """The same to higher order; seconds.

    Returns
    -------
    array
        sqrt(2 C M) (1 + sqrt(C / 2M) / 3 + C / 18M) - C where C < 2 M, else M; inf without failures.

    References
    ----------
    Daly, A higher order estimate of the optimum checkpoint interval (2006), eq. 37.
    """
    cost, mtbf = np.broadcast_arrays(np.asarray(checkpoint_s, float), np.asarray(mtbf_s, float))
    finite = np.where(np.isfinite(mtbf), mtbf, 1.0)
    ratio = cost / (2.0 * finite)
    found = np.sqrt(2.0 * cost * finite) * (1.0 + np.sqrt(ratio) / 3.0 + ratio / 9.0) - cost
    return np.asarray(np.where(np.isfinite(mtbf), np.where(ratio < 1.0, found, mtbf), np.inf))


def young_factor(interval_s: FloatArray, checkpoint_s: FloatArray, restart_s: FloatArray, mtbf_s: FloatArray) -> FloatArray:
    """Time of a run over that of its work, to first order: 1 + C/tau + (tau/2 + restart)/MTBF, for tau much shorter than MTBF."""
    interval = np.asarray(interval_s, float)
    return np.asarray(1.0 + checkpoint_s / interval + (interval / 2.0 + restart_s) / np.asarray(mtbf_s, float))


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
