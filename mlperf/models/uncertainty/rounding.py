"""Numbers with few significant digits, so that their decimal form is short and exact."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import FloatArray


def rounded(values: FloatArray, digits: int) -> FloatArray:
    """Each value to ``digits`` significant digits, as the double nearest to that decimal number."""
    return np.array([float(f"{value:.{digits}g}") for value in np.ravel(values)]).reshape(np.shape(values))
