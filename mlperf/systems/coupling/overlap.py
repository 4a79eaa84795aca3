"""Communication hidden behind computation: one stream that sends buckets as they become ready."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import FloatArray


def exposed(ready_s: FloatArray, comm_s: FloatArray) -> FloatArray:
    """When the last bucket has been sent, e_k = max(e_{k-1}, ready_k) + comm_k.

    Parameters
    ----------
    ready_s : array, shape (n_buckets, ...)
        When each bucket is ready, seconds after the backward pass began; in the order of sending.
    comm_s : array, shape (n_buckets, ...)
        Time to send each.

    Returns
    -------
    array, shape (...)
        Seconds after the backward pass began. With ``comm_s`` 0 the last bucket's readiness; for one bucket readiness plus time.
    """
    ready_s, comm_s = np.broadcast_arrays(np.asarray(ready_s, float), np.asarray(comm_s, float))
    end_s = np.zeros(ready_s.shape[1:])
    for ready, comm in zip(ready_s, comm_s, strict=True):
        end_s = np.maximum(end_s, ready) + comm
    return np.asarray(end_s)
