"""Workers that think and then queue for one server: exact mean-value analysis of the closed system."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import UsageError


def closed_queue(think_s: FloatArray, service_s: FloatArray, n_customers: int) -> FloatArray:
    """Throughput of ``n_customers`` that think, queue for one server, are served, and begin again.

    Parameters
    ----------
    think_s : array
        Mean think time Z (compute and pull of a worker), seconds.
    service_s : array
        Mean service time D, seconds.
    n_customers : int
        Customers N, >= 1.

    Returns
    -------
    array
        Services per second; at most min(N / (Z + D), 1 / D). Exact for exponential times, a few per cent low for regular ones.

    Raises
    ------
    UsageError
        No customer.

    References
    ----------
    Reiser and Lavenberg (1980), Mean-value analysis of closed multichain queuing networks.
    """
    if n_customers < 1:
        raise UsageError(f"got {n_customers} customers, expected at least 1")
    think_s, service_s = np.broadcast_arrays(np.asarray(think_s, float), np.asarray(service_s, float))
    queue = np.zeros(think_s.shape)
    rate = np.zeros(think_s.shape)
    for n in range(1, n_customers + 1):
        response_s = service_s * (1.0 + queue)
        rate = n / (think_s + response_s)
        queue = rate * response_s
    return np.asarray(rate)
