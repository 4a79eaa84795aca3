"""What a p-value means after a selection: tests and intervals given the comparisons that led to the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import UsageError
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown
from mlperf.core.threads import one_blas_thread
from mlperf.models.algebra.triangle import Triangle
from mlperf.models.inference.comparisons import Comparisons, Coordinates, Lines, coordinates, fitted_model, moving_lines
from mlperf.models.inference.truncated import (
    Pieces,
    feasible_pieces,
    folded,
    log_beta_tail,
    log_tail,
    selective_bounds,
    truncated_p_values,
)
from mlperf.models.selection.search import Selection

METHODS = ("truncated_f", "exact_beta", "truncated_chi")
TESTABLE = ("aic", "bic", "aicc", "cp", "adj_r2")


@dataclass(frozen=True, slots=True, eq=False)
class SelectiveInference(Shown):
    """Tests of the final model's coefficients and terms, given how it was selected.

    Attributes
    ----------
    method : str
        ``truncated_f``, ``exact_beta`` or ``truncated_chi``.
    level : float
        Of the bounds.
    columns : array of int, shape (n_kept,)
        Columns of the triangle, the constant first.
    p_value : array, shape (n_kept,)
        Of each coefficient, two-sided.
    lower, upper : array, shape (n_kept,)
        Selective confidence bounds of the coefficients, in their units; infinite where the data say nothing after the selection.
    terms : tuple of int
        Ids of the terms of the final model.
    term_p_value : array, shape (n_terms,)
        Of each term, all its columns together; of a term with one column its coefficient's.
    n_comparisons : int
        Comparisons that were conditioned on.
    reason : str or None
        Why there are no values (they are NaN then), else None.
    """

    method: str
    level: float
    columns: IntArray
    p_value: FloatArray
    lower: FloatArray
    upper: FloatArray
    terms: tuple[int, ...]
    term_p_value: FloatArray
    n_comparisons: int
    reason: str | None = field(default=None)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> SelectiveInference:
        """What `to_dict` wrote; DataError with the JSON path otherwise."""
        with Fields(document, path) as fields:
            columns = np.array(fields.integers("columns"), dtype=np.int64)
            p_value, lower, upper = (fields.numbers(name, len(columns), finite=False) for name in ("p_value", "lower", "upper"))
            terms = fields.integers("terms")
            return cls(
                fields.text("method", METHODS),
                fields.number("level", lower=0.0, upper=1.0),
                columns,
                p_value,
                lower,
                upper,
                terms,
                fields.numbers("term_p_value", len(terms), finite=False),
                fields.integer("n_comparisons"),
                None if fields.absent("reason") else fields.text("reason"),
            )

    def to_frame(self) -> pd.DataFrame:
        """One row a coefficient."""
        return pd.DataFrame({"column": self.columns, "p_selective": self.p_value, "lower": self.lower, "upper": self.upper})


def selective_inference(
    triangle: Triangle,
    selection: Selection,
    groups: Sequence[IntArray],
    *,
    method: str = "truncated_f",
    level: float = 0.95,
    tol: float = 1e-7,
) -> SelectiveInference:
    """Test every coefficient and term of a selected model given all comparisons that selected it.

    The estimate is moved along the line on which only it changes; every comparison is a quadratic inequality on that line; the
    test statistic follows its usual distribution truncated to where all of them hold. The hypothesis is that the coefficient is
    zero *in the selected model*. Errors are taken as Gaussian on the scale of the fit.

    Parameters
    ----------
    triangle : Triangle
        Of the weighted rows.
    selection : Selection
        From `select` on that triangle.
    groups : sequence of array of int
        Columns of each term id.
    method : {"truncated_f", "exact_beta", "truncated_chi"}
        Residual variance from the model with all columns, taken as fixed in the comparisons (default); exactly, with less power;
        or as if it were the true one.
    level : float
        Of the bounds.
    tol : float
        Of the rule for aliasing, as in the selection.

    Returns
    -------
    SelectiveInference
        With NaN and a reason where the criterion is ``p_value``, AICc was infinite on the way, or no residual degree of freedom
        is left in the model with all columns.

    Raises
    ------
    UsageError
        Unknown method.

    References
    ----------
    Loftus and Taylor (2015), Selective inference in regression models with groups of variables (quadratic comparisons, groups);
    Lee, Sun, Sun and Taylor (2016), Exact post-selection inference (intervals).
    """
    if method not in METHODS:
        raise UsageError(f"got method={method!r}, expected one of {', '.join(METHODS)}", place="selective_inference")
    with one_blas_thread():
        data = coordinates(triangle, tol)
        terms = selection.refits[-1].model
        model = fitted_model(data, triangle, groups, terms, tol)
        reason = _no_answer(selection, data, len(model.columns))
        if reason is not None:
            nothing = np.full(len(model.columns), np.nan)
            none = np.full(len(terms), np.nan)
            return SelectiveInference(method, level, model.columns, nothing, nothing, nothing, terms, none, 0, reason)
        wide = [term for term in terms if len(model.places(groups[term])) > 1]
        tested = [np.array([place]) for place in range(len(model.columns))] + [model.places(groups[term]) for term in wide]
        lines = moving_lines(model, data.response, tested)
        n_columns = np.array([len(places) for places in tested], dtype=np.float64)
        full_rss = _full_rss(data, lines, method)
        quadratics = Comparisons(data, lines, groups, triangle, full_rss, tol).quadratics(selection)
        sigma = np.sqrt(data.rss / data.df)
        pieces = _in_units(feasible_pieces(quadratics, lines.observed, signed=n_columns == 1.0), sigma)
        p_value = _p_values(pieces, lines, n_columns, data, method, sigma)
        lower, upper = _bounds(pieces, lines, model.columns, data, method, sigma, level)
    estimate = model.inverse @ (model.basis.T @ data.response) * float(triangle.scale[-1]) / triangle.scale[model.columns]
    n_kept = len(model.columns)
    relative = estimate * sigma / np.where(lines.observed[:n_kept] > 0.0, lines.observed[:n_kept], np.nan)
    ends = np.sort(np.stack([relative * lower, relative * upper]), axis=0)
    by_term = dict(zip(wide, p_value[n_kept:], strict=True))
    places = [model.places(groups[term]) for term in terms]
    of_terms = [by_term.get(term, p_value[place[0]] if len(place) else np.nan) for term, place in zip(terms, places, strict=True)]
    return SelectiveInference(
        method, level, model.columns, p_value[:n_kept], ends[0], ends[1], terms, np.array(of_terms), quadratics.shape[1]
    )


def _no_answer(selection: Selection, data: Coordinates, n_kept: int) -> str | None:
    if selection.criterion.name not in TESTABLE:
        return f"not implemented for the criterion {selection.criterion.name}"
    if data.df < 1.0 or data.rss <= 0.0:
        return "the model with all columns leaves no residual degrees of freedom"
    if any(np.isinf(table.base_value) for table in selection.tables if table.shown):
        return "the criterion was infinite on the way"
    return "the model has no columns" if n_kept == 0 else None


def _full_rss(data: Coordinates, lines: Lines, method: str) -> FloatArray:
    """RSS of the model with all columns along each line: fixed, or what the moving part leaves of a fixed sum."""
    constant = np.zeros((3, len(lines.observed)))
    constant[0] = data.rss
    if method == "exact_beta":
        constant[0] += np.square(lines.observed)
        constant[2] = -1.0
    return constant


def _in_units(pieces: Pieces, sigma: float) -> Pieces:
    return Pieces(pieces.owner, pieces.lower / sigma, pieces.upper / sigma)


def _p_values(pieces: Pieces, lines: Lines, n_columns: FloatArray, data: Coordinates, method: str, sigma: float) -> FloatArray:
    both = folded(pieces)
    observed = lines.observed / sigma

    def log_beyond(value: FloatArray, owner: IntArray | slice) -> FloatArray:
        if method == "exact_beta":
            whole = np.square(observed[owner]) + data.df
            return log_beta_tail(np.square(value) / whole, n_columns[owner], data.df)
        return log_tail(value, n_columns[owner], np.inf if method == "truncated_chi" else data.df)

    every = slice(None)
    return truncated_p_values(
        both, observed, log_beyond(both.upper, both.owner), log_beyond(both.lower, both.owner), log_beyond(observed, every)
    )


def _bounds(
    pieces: Pieces, lines: Lines, columns: IntArray, data: Coordinates, method: str, sigma: float, level: float
) -> tuple[FloatArray, FloatArray]:
    single = pieces.owner < len(columns)
    df = np.inf if method == "truncated_chi" else data.df
    ours = Pieces(pieces.owner[single], pieces.lower[single], pieces.upper[single])
    return selective_bounds(ours, lines.observed[: len(columns)] / sigma, df, level)
