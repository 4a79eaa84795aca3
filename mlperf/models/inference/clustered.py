"""Rows that come in groups: which belong together, tests of coefficients, the sandwich behind them, what such rows are worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.special import fdtrc, stdtr, stdtrit

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown
from mlperf.models.algebra.small_system import reduce_rows
from mlperf.models.selection.linear import LinearFit
from mlperf.models.validation.folds import configuration_groups, group_labels


@dataclass(frozen=True, slots=True, eq=False)
class RowGroups:
    """What says which rows of a fit belong together.

    Parameters
    ----------
    columns : mapping of str to array, each of shape (n_given,)
        What the candidate terms read.
    rows : array of int, shape (n_weighted,)
        Rows of the fit.
    named : array of int, shape (n_given,), or None
        Group of every row; None where nobody named groups.
    """

    columns: Mapping[str, Any]
    rows: IntArray
    named: IntArray | None

    def groups(self) -> IntArray | None:
        """Group of each row of the fit counted from 0, shape (n_weighted,); None where nobody named groups."""
        return None if self.named is None else np.unique(self.named[self.rows], return_inverse=True)[1].astype(np.int64)

    def configurations(self) -> IntArray:
        """The same number for rows that are equal in every column, shape (n_weighted,)."""
        if not self.columns:
            return np.zeros(len(self.rows), dtype=np.int64)
        return configuration_groups(pd.DataFrame({name: np.asarray(values)[self.rows] for name, values in self.columns.items()}))


def group_numbers(groups: ArrayLike, n_rows: int) -> IntArray:
    """Number of each row's group in sorted order, shape (n_rows,).

    Raises
    ------
    DataError
        Another number of values than rows, or a missing one.
    """
    return pd.factorize(group_labels(groups, n_rows), sort=True)[0].astype(np.int64)


def sandwich_factor(matrix: FloatArray, *, bread: FloatArray, score: FloatArray, groups: IntArray | None = None) -> FloatArray:
    """Upper triangular F with F F' = B^-1 M B^-1, where B = X' diag(bread) X and M = X' diag(score**2) X.

    Parameters
    ----------
    matrix : array, shape (n_rows, n_columns)
        X.
    bread : array, shape (n_rows,)
        >= 0.
    score : array, shape (n_rows,)
        Influence of each row on the estimating equation.
    groups : array of int, shape (n_rows,), optional
        Scores are summed within groups before squaring (cluster-robust errors).

    Returns
    -------
    array, shape (n_columns, n_columns)
        Directions that the rows say nothing about get zero.

    References
    ----------
    Huber (1967); White (1980); Liang and Zeger (1986) for groups.
    """
    return robust_factor(reduce_rows(matrix, score, bread).inverse_factor(), matrix, score, groups)


def robust_factor(left: FloatArray, matrix: FloatArray, score: FloatArray, groups: IntArray | None = None) -> FloatArray:
    """The same where a factor of the inverse of the bread is known: ``left left' = B^-1``, shape (n_columns, n_columns)."""
    influence = (matrix * score[:, None]) @ left
    if groups is not None:
        influence = np.stack([np.bincount(groups, column) for column in influence.T], axis=1)
    root = np.asarray(np.linalg.qr(influence, mode="r")) if len(influence) >= influence.shape[1] else influence
    return upper_root(left @ root.T)


def upper_root(root: FloatArray) -> FloatArray:
    """Upper triangular F with F F' = root root', by QR of the rows in reverse order; shape (n_rows, n_rows)."""
    size = len(root)
    reversed_r = np.linalg.qr(root[::-1].T, mode="r")
    square = np.zeros((size, size))
    square[: len(reversed_r)] = reversed_r
    return np.ascontiguousarray(square.T[::-1, ::-1])


SOLID = 1e-10
"""A standard error below this share of the naive one is rounding: the residuals of every group add up to zero there."""


@dataclass(frozen=True, slots=True, eq=False)
class ClusterInference(Shown):
    """Tests that let errors within a group be correlated; arrays have shape (rank,).

    NaN where the groups say nothing: fewer groups than tested coefficients, or a coefficient that each group fits for itself.

    Attributes
    ----------
    n_groups : int
    std_err, t_value, p_value : array
        Cluster-robust (CR1), Student's t with n_groups - 1 degrees of freedom. As naive after a selection as those of the fit.
    lower, upper : array
        95 % confidence bounds.
    f_value, f_p_value : float
        Wald test of all terms against the constant; of all coefficients in a model without one.
    f_df : (int, int)
    intraclass_correlation : float
        Of the weighted residuals, from their one-way analysis of variance; NaN where no group has two rows.
    design_effect : float
        ``1 + (m - 1) rho``: by how much correlated rows inflate the variance of a mean. m is the mean size of a row's group,
        the sum of n_g**2 over n; rho the intraclass correlation, negative ones taken for 0.
    n_effective : float
        Rows over the design effect. Of a coefficient whose column varies within groups more are worth something.

    References
    ----------
    Liang and Zeger (1986); Cameron and Miller (2015), A practitioner's guide to cluster-robust inference, section II; Kish (1965),
    Survey Sampling, for the design effect; Donner and Koval (1980) for the correlation in groups of unequal size.
    """

    n_groups: int
    std_err: FloatArray
    t_value: FloatArray
    p_value: FloatArray
    lower: FloatArray
    upper: FloatArray
    f_value: float
    f_df: tuple[int, int]
    f_p_value: float
    intraclass_correlation: float
    design_effect: float
    n_effective: float

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str, rank: int) -> ClusterInference:
        """What `to_dict` wrote of a model of ``rank`` coefficients; DataError with the JSON path otherwise."""
        with Fields(document, path) as fields:
            std_err, t_value, p_value, lower, upper = (
                fields.numbers(name, rank, finite=False) for name in ("std_err", "t_value", "p_value", "lower", "upper")
            )
            f_df = fields.integers("f_df", 2)
            return cls(
                fields.integer("n_groups", lower=2),
                std_err,
                t_value,
                p_value,
                lower,
                upper,
                fields.number("f_value", finite=False),
                (f_df[0], f_df[1]),
                fields.number("f_p_value", finite=False),
                fields.number("intraclass_correlation", finite=False),
                fields.number("design_effect", lower=1.0),
                fields.number("n_effective", lower=0.0),
            )


def cluster_inference(fit: LinearFit, groups: IntArray, naive: FloatArray) -> ClusterInference | None:
    """Cluster-robust tests of a final model (CR1: factor G / (G - 1) * (n - 1) / (n - rank)).

    Parameters
    ----------
    fit : LinearFit
    groups : array of int, shape (n_weighted,)
        Numbers from 0, every one of them used.
    naive : array, shape (rank,)
        Standard errors for independent rows.

    Returns
    -------
    ClusterInference or None
        None with one group, without coefficients or without residual degrees of freedom.
    """
    n_rows, n_groups = len(fit.y), int(groups.max(initial=-1)) + 1
    if n_groups < 2 or not fit.rank or fit.df_resid < 1:
        return None
    score = fit.residuals if fit.weights is None else fit.residuals * fit.weights
    correction = n_groups / (n_groups - 1) * (n_rows - 1) / fit.df_resid
    factor = np.sqrt(correction) * robust_factor(fit.unscaled_factor(), fit.matrix, score, groups)
    std_err = np.sqrt(np.einsum("ij,ij->i", factor, factor))
    std_err[~(std_err > SOLID * naive)] = np.nan
    t_value = fit.coef / std_err
    half = float(stdtrit(n_groups - 1, 0.975)) * std_err
    f_value, f_df = wald(fit.coef, factor, std_err, first=int(fit.intercept), n_groups=n_groups)
    correlation = intraclass_correlation(fit.weighted_residuals(), groups)
    effect = design_effect(correlation, np.bincount(groups))
    return ClusterInference(
        n_groups,
        std_err,
        t_value,
        np.asarray(2.0 * stdtr(n_groups - 1, -np.abs(t_value))),
        fit.coef - half,
        fit.coef + half,
        f_value,
        f_df,
        float(fdtrc(*f_df, f_value)) if np.isfinite(f_value) else float("nan"),
        correlation,
        effect,
        n_rows / effect,
    )


def wald(coef: FloatArray, factor: FloatArray, std_err: FloatArray, *, first: int, n_groups: int) -> tuple[float, tuple[int, int]]:
    """F of the Wald test that all coefficients from ``first`` on are zero, and its degrees of freedom.

    ``factor factor'`` is the covariance of the coefficients, upper triangular; NaN where it is singular among those tested.
    """
    tested = factor[first:, first:]
    df = (len(tested), n_groups - 1)
    solid = np.abs(np.diag(tested)) > SOLID * np.sqrt(np.einsum("ij,ij->i", tested, tested))
    if not len(tested) or n_groups <= len(tested) or np.isnan(std_err[first:]).any() or not solid.all():
        return float("nan"), df
    side = solve_triangular(tested / std_err[first:, None], coef[first:] / std_err[first:])
    return float(side @ side) / len(tested), df


def intraclass_correlation(values: FloatArray, groups: IntArray) -> float:
    """Correlation of two values of one group, from the one-way analysis of variance; NaN where no group has two rows."""
    sizes = np.bincount(groups)
    n_rows, n_groups = len(values), len(sizes)
    if n_rows == n_groups or n_groups < 2:
        return float("nan")
    means = np.bincount(groups, values) / sizes
    between = float(sizes @ np.square(means - values.mean())) / (n_groups - 1)
    within = float(np.square(values - means[groups]).sum()) / (n_rows - n_groups)
    typical = (n_rows - float(sizes @ sizes) / n_rows) / (n_groups - 1)
    total = between + (typical - 1.0) * within
    return (between - within) / total if total > 0 else float("nan")


def design_effect(correlation: float, sizes: IntArray) -> float:
    """Variance of a mean of correlated rows over that of as many independent ones, >= 1 (Kish 1965).

    Parameters
    ----------
    correlation : float
        Within groups; NaN and negative ones count as 0.
    sizes : array of int, shape (n_groups,)
        Rows of each group.
    """
    own_group = float(sizes @ sizes) / float(sizes.sum())
    return 1.0 + (own_group - 1.0) * correlation if correlation > 0 else 1.0
