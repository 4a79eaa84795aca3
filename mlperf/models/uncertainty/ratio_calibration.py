"""A calibrated predictor: factors that a left-out rule chose, errors with and without them, intervals that cover."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import FitError
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown
from mlperf.models.uncertainty.intervals import Interval
from mlperf.models.uncertainty.ratio_factors import (
    UNCHANGED,
    GroupColumns,
    Labels,
    RatioFactors,
    best_depth,
    chosen_left_out,
    fit_factors,
    group_columns,
    group_folds,
    left_out_by_depth,
    left_out_residuals,
    mean_error,
    row_folds,
)
from mlperf.models.uncertainty.residual_quantiles import ResidualQuantiles

LEAST_ROWS = 2
LEAST_NESTED = 3
"""Rows from which on the choice can be judged without the row it is judged on."""


@dataclass(frozen=True, slots=True, eq=False)
class RatioCalibration(Shown):
    """Factors with the residuals that their intervals come from.

    Attributes
    ----------
    factors : RatioFactors
        What a prediction is multiplied by.
    n_rows : int
        Rows measured.
    error_before, error_after : float
        Mean |prediction / measured - 1| without factors; and of left-out rows with them, grouping chosen without each.
    error_by_depth : array, shape (n_columns + 2,)
        Mean left-out error of no factor, one factor, groups by one column, by two, ...
    left_out : array, shape (n_rows,)
        log(measured / calibrated) of each row, factor and grouping found without it; as predicted where nothing helps.
    of_rows : ResidualQuantiles
        Of log(measured / calibrated) of left-out rows.
    of_groups : tuple of (ResidualQuantiles or None)
        The same of whole groups left out, by one column, by two, ...; None where there is but one.
    """

    factors: RatioFactors
    n_rows: int
    error_before: float
    error_after: float
    error_by_depth: FloatArray
    left_out: FloatArray
    of_rows: ResidualQuantiles
    of_groups: tuple[ResidualQuantiles | None, ...] = ()

    @property
    def helps(self) -> bool:
        """Whether predictions are changed at all."""
        return self.factors.depth != UNCHANGED

    def predict(self, predicted: FloatArray, labels: Labels) -> FloatArray:
        """Calibrated predictions, shape (n_rows,), in the unit of ``predicted``."""
        return np.asarray(predicted * np.exp(self.factors.log_factor(labels)))

    def interval(self, predicted: FloatArray, labels: Labels, level: float) -> Interval:
        """Prediction interval of one measured run of each row, shape (n_rows,); wider where a row's group was not calibrated."""
        calibrated = self.predict(predicted, labels)
        low, high = self.of_rows.bounds(level)
        below, above = np.full(len(calibrated), low), np.full(len(calibrated), high)
        known = self.factors.known_depth(labels)
        for depth, residuals in enumerate(self.of_groups):
            if residuals is not None:
                outer_low, outer_high = residuals.bounds(level)
                strange = known == depth
                below[strange], above[strange] = min(low, outer_low), max(high, outer_high)
        return Interval(calibrated * np.exp(below), calibrated * np.exp(above), level)

    def in_domain(self, labels: Labels) -> BoolArray:
        """Whether every group of a row was calibrated, shape (n_rows,)."""
        return self.factors.knows(labels)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> RatioCalibration:
        """The calibration that `to_dict` wrote; DataError with the JSON path otherwise."""
        with Fields(document, path) as fields:
            groups = enumerate(fields.items("of_groups"))
            return cls(
                factors=RatioFactors.from_dict(fields.raw("factors"), f"{path}.factors"),
                n_rows=(n_rows := fields.integer("n_rows", lower=LEAST_ROWS)),
                error_before=fields.number("error_before", lower=0.0),
                error_after=fields.number("error_after", lower=0.0),
                error_by_depth=fields.numbers("error_by_depth", lower=0.0),
                left_out=fields.numbers("left_out", n_rows),
                of_rows=ResidualQuantiles.from_dict(fields.raw("of_rows"), f"{path}.of_rows"),
                of_groups=tuple(
                    None if each is None else ResidualQuantiles.from_dict(each, f"{path}.of_groups[{at}]") for at, each in groups
                ),
            )


def calibrate_ratios(log_ratio: FloatArray, labels: Labels) -> RatioCalibration:
    """Choose and fit factors.

    Groups are taken, or one factor, where left-out rows say so, and nothing is changed where even the choice made without a row
    does not bring that row nearer on average: by its own left-out rule a calibrated predictor is never worse.

    Parameters
    ----------
    log_ratio : array, shape (n_rows,)
        log(measured / predicted).
    labels : array of str, shape (n_rows, n_columns)
        Groups, the coarsest column first; no column for one common factor at most.

    Raises
    ------
    FitError
        Fewer than two rows.

    References
    ----------
    Barber, Candes, Ramdas and Tibshirani (2021), Predictive inference with the jackknife+: residuals of left-out rows about the
    final model; below 2 / (1 - level) rows Student's t with their root mean square.
    """
    n_rows = len(log_ratio)
    if n_rows < LEAST_ROWS:
        hint = "One row cannot tell a factor from the noise of a measurement."
        raise FitError(f"got {n_rows} measured row, expected at least {LEAST_ROWS}", place="calibration", hint=hint)
    folds, groups = row_folds(n_rows), group_columns(labels)
    by_depth = left_out_by_depth(log_ratio, groups, labels.shape[1], folds)
    before = mean_error(log_ratio)
    depth = best_depth(log_ratio, groups)
    left_out = chosen_left_out(log_ratio, groups) if n_rows >= LEAST_NESTED else by_depth[depth - UNCHANGED]
    if mean_error(left_out) >= before:
        depth, left_out = UNCHANGED, log_ratio
    return RatioCalibration(
        factors=fit_factors(log_ratio, labels, depth),
        n_rows=n_rows,
        error_before=before,
        error_after=mean_error(left_out),
        error_by_depth=np.array([mean_error(residuals) for residuals in by_depth]),
        left_out=left_out,
        of_rows=ResidualQuantiles.of(by_depth[depth - UNCHANGED]),
        of_groups=tuple(_group_residuals(log_ratio, groups, depth, width) for width in range(1, depth + 1)),
    )


def _group_residuals(log_ratio: FloatArray, groups: GroupColumns, depth: int, width: int) -> ResidualQuantiles | None:
    """Residuals of whole groups left out: of each the row that is missed most, so that a group counts once."""
    folds = group_folds(groups, width)
    if len(folds) < 2:
        return None
    residuals = left_out_residuals(log_ratio, groups, depth, folds)
    return ResidualQuantiles.of(np.array([residuals[rows][np.argmax(np.abs(residuals[rows]))] for rows in folds]))
