"""The published model of the statistical-learning paper, and why nobody should read its coefficients as costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.core.shown import Shown

MICROSECOND_S = 1e-6


@dataclass(frozen=True, slots=True)
class PublishedModel(Shown):
    """Coefficients as printed: T = a0 + sum of a_i times the static count of instruction i.

    Attributes
    ----------
    name, source, setting : str
        What to call it, where it stands, what it was fitted on.
    constant_us : float
        a0. The paper names no unit; microseconds fit the sizes of its figure 6.
    coef_us : mapping of str to float
        Microseconds per counted instruction, by our name of the instruction.
    r2_adj : float
        As printed.
    warnings : tuple of str
        What to know before using it.
    """

    name: str
    source: str
    setting: str
    constant_us: float
    coef_us: Mapping[str, float]
    r2_adj: float
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """One row a coefficient."""
        rows = [("(Intercept)", self.constant_us), *((f"cnt_{name}", value) for name, value in self.coef_us.items())]
        return pd.DataFrame(rows, columns=["term", "coef_us"])


PUBLISHED = PublishedModel(
    name="equation 2",
    source="Ogata, Trouvé, Maki, Clarke, Murakami: SIMD Performance Estimation using Statistical Machine Learning, eq. 2",
    setting="443 contraction patterns, N = 100, icc 12.1.5 -O2 -xSSE3, Core 2 Extreme; mean of five runs",
    constant_us=48657.2,
    coef_us=MappingProxyType(
        {"movss": 27355.8, "unpcklps": -24965.7, "mulps": 14698.0, "addps": -33023.6, "add": 2735.3, "xor": -3470.7}
    ),
    r2_adj=0.94,
    warnings=(
        "three of six costs are negative: more addps, unpcklps or xor would make a program faster; the counts are collinear, and "
        "no coefficient is the cost of an instruction",
        "adjusted R² 0.94 is of the rows it was fitted on; no left-out error is printed, and small p-values say nothing about it",
        "fitted at one size, by one compiler, on one machine: elsewhere its numbers mean nothing, and times may come out negative",
    ),
)


def published_times(counts: pd.DataFrame, model: PublishedModel = PUBLISHED) -> FloatArray:
    """Times that the printed coefficients give, seconds, shape (n_rows,); not clipped, so some may be negative.

    Parameters
    ----------
    counts : DataFrame
        Static counts of whole functions, ``cnt_movss`` and so on.
    model : PublishedModel

    Raises
    ------
    DataError
        A count is missing.
    """
    missing = [name for name in model.coef_us if f"cnt_{name}" not in counts]
    if missing:
        raise DataError(
            f"got no column cnt_{missing[0]}, expected static counts of the whole function",
            hint="mlperf features swc-o counts them.",
        )
    total = np.full(len(counts), model.constant_us)
    for name, cost in model.coef_us.items():
        total = total + cost * counts[f"cnt_{name}"].to_numpy(float)
    return MICROSECOND_S * total
