"""Where the closed forms of SPRINT are not to be trusted."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import BoolArray
from mlperf.systems.sprint.iterations import CoupledThreads, Periods

FETCH_BURST_SHARE = 0.5
BUSY_GRADIENT_LOCK_SHARE = 0.2
PHASE_LOCKING_SHARE = 0.05


def sprint_flags(threads: CoupledThreads, at: Periods) -> dict[str, BoolArray]:
    """Validity flags by name; arrays of shape (n_configs,).

    ``weights_lock_saturated``: the weights lock is asked for more than it has (a solution exists but has no meaning).
    ``fetch_burst``: fetches of a node fill half of T_GPU. ``gradient_lock_busy``: deposits fill a fifth of it.
    ``phase_locking_risk``: less jitter than one deposit, so that T_GPU / T_Update may lock onto a small rational number; neither
    a closed form nor the recursion sees that. ``clamp``: T_Update >= T_GPU, every buffer is fresh.
    """
    gpu_s, update_s, deposit_s = at.gpu_s, at.update_s, threads.update_gradient_s
    fetches_s = threads.n_gpus_per_node * threads.fetch_weights_s
    weights_load = fetches_s * at.fetch_probability / gpu_s + threads.update_weights_s / update_s
    long_deposit = deposit_s > PHASE_LOCKING_SHARE * np.minimum(gpu_s, update_s)
    return {
        "weights_lock_saturated": weights_load > 1.0,
        "fetch_burst": fetches_s / gpu_s > FETCH_BURST_SHARE,
        "gradient_lock_busy": deposit_s / gpu_s > BUSY_GRADIENT_LOCK_SHARE,
        "phase_locking_risk": (threads.gpu_work_std_s < deposit_s) & long_deposit,
        "clamp": update_s >= gpu_s,
    }
