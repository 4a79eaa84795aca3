"""Does the form of a model fit, judged by rows that repeat: the test of lack of fit against pure error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import fdtrc

from mlperf.core.arrays import IntArray
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown
from mlperf.models.selection.linear import LinearFit


@dataclass(frozen=True, slots=True)
class LackOfFit(Shown):
    """A model against the one with a mean for every configuration, which no form of the same columns can beat.

    Attributes
    ----------
    n_configurations : int
        Different rows of what the candidate terms read.
    ss_lack_of_fit, ss_pure_error : float
        Parts of the weighted residual sum of squares: means of configurations about the model, repeats about their means.
    df_lack_of_fit, df_pure_error : int
        Configurations less coefficients; rows less configurations.
    f_value, f_p_value : float
        A small p says that the form is wrong. It trusts repeats to be independent: those of one session that share its state
        are not, and the p-value is then too small.

    References
    ----------
    Draper and Smith (1998), Applied Regression Analysis, section 2.1.
    """

    n_configurations: int
    ss_lack_of_fit: float
    ss_pure_error: float
    df_lack_of_fit: int
    df_pure_error: int
    f_value: float
    f_p_value: float

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> LackOfFit:
        """What `to_dict` wrote; DataError with the JSON path otherwise."""
        with Fields(document, path) as fields:
            return cls(
                fields.integer("n_configurations", lower=1),
                fields.number("ss_lack_of_fit", lower=0.0),
                fields.number("ss_pure_error", lower=0.0),
                fields.integer("df_lack_of_fit", lower=1),
                fields.integer("df_pure_error", lower=1),
                fields.number("f_value", finite=False),
                fields.number("f_p_value", finite=False),
            )


def lack_of_fit(fit: LinearFit, configurations: IntArray) -> LackOfFit | None:
    """Test the form of a final model.

    Parameters
    ----------
    fit : LinearFit
    configurations : array of int, shape (n_weighted,)
        Numbers from 0, the same for rows whose columns are equal.

    Returns
    -------
    LackOfFit or None
        None where no row repeats, or the model has a coefficient for every configuration.
    """
    weights = np.ones(len(fit.y)) if fit.weights is None else fit.weights
    total = np.bincount(configurations, weights)
    df_lack, df_pure = len(total) - fit.rank, len(fit.y) - len(total)
    if df_lack < 1 or df_pure < 1:
        return None
    # The model is constant within a configuration, so the mean residual is what the model misses there.
    missed = np.bincount(configurations, weights * fit.residuals) / total
    ss_lack = float(total @ np.square(missed))
    ss_pure = float(weights @ np.square(fit.residuals - missed[configurations]))
    f_value = (ss_lack / df_lack) / (ss_pure / df_pure) if ss_pure > 0 else float("inf")
    return LackOfFit(len(total), ss_lack, ss_pure, df_lack, df_pure, f_value, float(fdtrc(df_lack, df_pure, f_value)))
