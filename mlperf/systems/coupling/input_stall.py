"""How long a worker waits for its input, and the larger of two varying times."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.systems.coupling.probabilities import expected_excess


def input_stall(
    step_s: FloatArray, load_s: FloatArray, step_std_s: FloatArray | float = 0.0, load_std_s: FloatArray | float = 0.0
) -> FloatArray:
    """Mean wait for input of a step whose input loads during the step before: E max(step, load) - step.

    Parameters
    ----------
    step_s, load_s : array
        Means of a step's computation and of loading its input (loading time over loaders); seconds.
    step_std_s, load_std_s : array or float
        Standard deviations of both; normal and independent.

    Returns
    -------
    array
        Seconds, E max(load - step, 0); max(load - step, 0) where nothing varies. One step is loaded ahead: deeper queues smooth
        the spreads and wait less.

    References
    ----------
    Clark (1961), eq. 2: the mean of the larger of two normal variables.
    """
    step, load = np.asarray(step_s, float), np.asarray(load_s, float)
    return expected_excess(load - step, np.hypot(step_std_s, load_std_s))
