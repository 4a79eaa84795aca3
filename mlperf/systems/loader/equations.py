"""A loader beside a training step: workers make batches, some ahead, and a step waits where none is ready."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mlperf.core.arrays import FloatArray, IntArray


def samples_per_s(
    n_workers: ArrayLike,
    sample_cpu_s: ArrayLike,
    sample_wait_s: ArrayLike = 0.0,
    n_cores: ArrayLike = np.inf,
    sample_bytes: ArrayLike = 0.0,
    storage_bytes_per_s: ArrayLike = np.inf,
) -> FloatArray:
    """Samples a second that workers make: the least of what workers, cores and storage allow.

    Parameters
    ----------
    n_workers : array
    sample_cpu_s, sample_wait_s : array
        Of one sample: processor time, and time in which its worker only waits (latency of storage), seconds.
    n_cores : array
        Cores that the workers share.
    sample_bytes, storage_bytes_per_s : array
        Read for a sample; read in all by storage.

    Notes
    -----
    min(W / (c + l), K / c, B / b).
    """
    workers, cpu, wait = (np.asarray(each, dtype=float) for each in (n_workers, sample_cpu_s, sample_wait_s))
    with np.errstate(divide="ignore"):
        by_workers = workers / (cpu + wait)
        by_cores = np.asarray(n_cores, dtype=float) / cpu
        by_storage = np.asarray(storage_bytes_per_s, dtype=float) / np.asarray(sample_bytes, dtype=float)
    return np.asarray(np.minimum(np.minimum(by_workers, by_cores), by_storage))


def loaded_step_s(
    compute_s: ArrayLike, load_s: ArrayLike, compute_std_s: ArrayLike = 0.0, load_std_s: ArrayLike = 0.0, depth: ArrayLike = 1
) -> FloatArray:
    """Mean step where a batch is made in ``load_s`` while another is trained on, ``depth`` batches ahead.

    Parameters
    ----------
    compute_s, load_s : array
        Means of a step without waiting, and of the time between two batches, seconds.
    compute_std_s, load_std_s : array
        Their standard deviations from batch to batch.
    depth : array
        Batches that may be ready: the longer the queue, the less one slow batch matters.

    Notes
    -----
    Without variation the larger of the two. With it, the work that is ready drifts by their difference from batch to batch, varies
    by both variances, and is held between nothing and the queue's length: a Brownian motion reflected at both ends (Harrison 1985),
    which waits for drift / (1 - exp(-2 drift b / variance)) a step, b = (depth + 1/2) steps. Within 2 % of a simulated queue.
    """
    compute, load = np.broadcast_arrays(np.asarray(compute_s, dtype=float), np.asarray(load_s, dtype=float))
    variance = np.asarray(compute_std_s, dtype=float) ** 2 + np.asarray(load_std_s, dtype=float) ** 2
    width = (np.asarray(depth, dtype=float) + 0.5) * np.maximum(compute, load)
    drift = load - compute
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        waited = drift / -np.expm1(-2.0 * drift * width / variance)
        balanced = variance / (2.0 * width)
    varied = compute + np.where(np.abs(drift) < 1e-9 * width, balanced, waited)
    return np.asarray(np.where(variance > 0, varied, np.maximum(compute, load)))


def workers_needed(compute_s: ArrayLike, batch_s: ArrayLike) -> IntArray:
    """Smallest number of workers at which mean steps wait for no batch.

    Parameters
    ----------
    compute_s : array
        A step without waiting, seconds.
    batch_s : array
        One worker's time for a batch, seconds.
    """
    ratio = np.asarray(batch_s, dtype=float) / np.asarray(compute_s, dtype=float)
    # Rounding must not ask for a worker more where they fit exactly.
    found: IntArray = np.maximum(np.ceil(ratio - 1e-9), 1).astype(np.int64)
    return found


def lost_devices(step_s: ArrayLike, compute_s: ArrayLike, n_devices: ArrayLike) -> FloatArray:
    """Devices whose work is lost to waiting: their number times the share of a step that waits.

    References
    ----------
    SOFA, case study three: 17 % of eight GPUs are 1 to 2 of them.
    """
    step, compute = np.asarray(step_s, dtype=float), np.asarray(compute_s, dtype=float)
    return np.asarray(np.asarray(n_devices, dtype=float) * (1.0 - compute / step))
