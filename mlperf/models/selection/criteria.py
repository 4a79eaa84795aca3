"""Information criteria and other scores of nested models, on the scale of R's ``step``: smaller is better."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.special import fdtrc

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import UsageError

# name: title of the column in printed tables
CRITERIA = {"aic": "AIC", "bic": "AIC", "aicc": "AICc", "cp": "Cp", "p_value": "Pr(>F)", "adj_r2": "-Adj R2"}


@dataclass(frozen=True, slots=True)
class Criterion:
    """What the search minimises.

    Parameters
    ----------
    name : {"aic", "bic", "aicc", "cp", "p_value", "adj_r2"}
    k : float
        Penalty per parameter.
    scale : float
        Known residual variance; above 0 the criterion is ``RSS / scale - n + k edf`` (Mallows' Cp).
    alpha_enter, alpha_remove : float
        Levels of ``p_value``.
    floor : float
        RSS below this counts as a perfect fit and is taken for it.
    tss : float
        Total sum of squares, for ``adj_r2``.
    n_constant : int
        1 with a constant, for ``adj_r2``.
    """

    name: str = "aic"
    k: float = 2.0
    scale: float = 0.0
    alpha_enter: float = 0.05
    alpha_remove: float = 0.05
    floor: float = 0.0
    tss: float = 1.0
    n_constant: int = 1

    def __post_init__(self) -> None:
        if self.name not in CRITERIA:
            raise UsageError(f"got criterion {self.name!r}, expected one of {', '.join(CRITERIA)}")

    @property
    def title(self) -> str:
        """Column title as printed."""
        return "Cp" if self.scale > 0 and self.name in ("aic", "bic", "cp") else CRITERIA[self.name]

    def value(self, rss: float, edf: int, n: int) -> float:
        """The same as ``values`` for one model."""
        if self.name in ("aic", "bic") and self.scale <= 0:
            return n * math.log(max(rss, self.floor) / n) + self.k * edf
        return float(self.values(np.array([rss]), np.array([edf]), n)[0])

    def values(self, rss: FloatArray, edf: FloatArray | IntArray | int, n: int | IntArray) -> FloatArray:
        """The criterion of models.

        Parameters
        ----------
        rss : array, shape (n_models,)
            Residual sums of squares, in squares of the (weighted) response.
        edf : array, shape (n_models,)
            Numbers of parameters.
        n : int or array of int
            Number of rows, those of weight zero included.

        Returns
        -------
        array, shape (n_models,)
            ``n log(RSS / n) + k edf``, plus ``2 K (K + 1) / (n - K - 1)`` with K = edf + 1 for AICc (infinite where the
            denominator is not positive); minus adjusted R2 for ``adj_r2``.

        References
        ----------
        Hurvich and Tsai (1989) for AICc; Mallows (1973) for Cp.
        """
        rss = np.maximum(rss, self.floor)
        if self.name == "adj_r2":
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.asarray((rss / (n - edf)) / (self.tss / (n - self.n_constant)) - 1.0)
        if self.scale > 0 and self.name != "aicc":
            return np.asarray(rss / self.scale - n + self.k * edf)
        value = rss / n
        np.log(value, out=value)
        value *= n
        value += self.k * edf
        if self.name == "aicc":
            value = value + small_sample_correction(edf, n)
        return np.asarray(value)


def small_sample_correction(edf: FloatArray | IntArray | float, n: int | IntArray) -> FloatArray:
    """What AICc adds to AIC, with sigma counted as a parameter (Hurvich and Tsai 1989)."""
    counted = np.asarray(edf, dtype=np.float64) + 1.0
    room = n - counted - 1.0
    return np.where(room > 0, 2.0 * counted * (counted + 1.0) / np.where(room > 0, room, 1.0), np.inf)


def partial_f_p(
    smaller_rss: FloatArray, larger_rss: FloatArray, df: FloatArray | IntArray, df_resid: FloatArray | IntArray | float
) -> FloatArray:
    """p-value of the F test between nested models.

    Parameters
    ----------
    smaller_rss, larger_rss : array, shape (n_models,)
        RSS without and with the term.
    df : array, shape (n_models,)
        Parameters of the term.
    df_resid : float or array
        Residual degrees of freedom of the larger model.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        f_value = np.abs(smaller_rss - larger_rss) / df / (larger_rss / df_resid)
        return np.where(np.asarray(df) > 0, fdtrc(df, df_resid, np.where(np.isfinite(f_value), f_value, np.inf)), np.nan)


def is_cost(k: object) -> bool:
    """Whether ``k`` is a number >= 0, what a coefficient may cost; true and false are none."""
    return not isinstance(k, bool) and isinstance(k, Real) and math.isfinite(k) and float(k) >= 0.0
