"""Where a model errs more: the size of left-out residuals as a smooth function of the row, kept as a few dozen centres."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray, rounded
from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields
from mlperf.models.uncertainty.residual_quantiles import ResidualQuantiles

MAX_CENTRES = 64
ROWS_A_CENTRE = 12
MIN_ROWS = 48
NEIGHBOUR = 2
MAX_NUMBERS = 512
DIGITS = 4
PRIOR_ROWS = 3.0
ROWS_A_CHUNK = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Difficulty:
    """Mean size of residuals near a row, by a kernel over the centres of cells of equally many training rows.

    Attributes
    ----------
    unit : array, shape (n_columns,)
        Median size of each column where it is not zero: columns enter as asinh(x / unit), a logarithm that bears zeros and signs.
    middle, width : array, shape (n_columns,)
        Mean and standard deviation of the transformed columns; width 0 for a column that does not vary.
    centres : array, shape (n_centres, n_columns)
        Means of the cells, standardised.
    size : array, shape (n_centres,)
        Mean |residual| of each cell.
    bandwidth : float
        Squared distance at which a centre's weight has fallen to 1 / e.
    """

    unit: FloatArray
    middle: FloatArray
    width: FloatArray
    centres: FloatArray
    size: FloatArray
    bandwidth: float

    @classmethod
    def fit(
        cls, columns: FloatArray, residuals: FloatArray, fold_of: IntArray | None = None
    ) -> tuple[Difficulty, FloatArray] | None:
        """Learn from left-out residuals.

        Parameters
        ----------
        columns : array, shape (n_samples, n_columns)
            Design matrix or features.
        residuals : array, shape (n_samples,)
            Infinite ones count as the largest finite one.
        fold_of : array of int, shape (n_samples,), optional
            Fold of each row, rows of one group in one fold; default every row its own.

        Returns
        -------
        (Difficulty, array of shape (n_samples,)) or None
            With the size expected of each training row's residual from the rows of other folds alone (a group's own errors must not
            announce themselves); None below 48 rows, or where no column or no residual varies.
        """
        finite = np.isfinite(residuals)
        if len(columns) < MIN_ROWS or not finite.any() or not np.abs(residuals[finite]).max() > 0.0:
            return None
        sizes = np.minimum(np.abs(residuals), np.abs(residuals[finite]).max())
        units = rounded(
            np.array([np.median(np.abs(column[column != 0.0])) if (column != 0.0).any() else 1.0 for column in columns.T]), DIGITS
        )
        turned = np.arcsinh(columns / units)
        middle, width = rounded(turned.mean(axis=0), DIGITS), rounded(turned.std(axis=0), DIGITS)
        width = np.where(width > 1e-9, width, 0.0)
        if not width.any():
            return None
        rows = _standardised(turned, middle, width)
        cells = _cells(rows)
        centres = np.array([rows[cell].mean(axis=0) for cell in cells])
        nearest = np.sort(_squared_distances(centres, centres), axis=1)[:, min(NEIGHBOUR, len(centres) - 1)]
        sums = [(float(sizes[cell].sum()), float(len(cell))) for cell in cells]
        typical = float(sizes.mean())
        size = rounded(np.array([_shrunk(total, count, typical) for total, count in sums]), DIGITS)
        made = cls(units, middle, width, rounded(centres, DIGITS), size, max(float(np.median(nearest)), 1e-6))
        if fold_of is None:
            others = np.empty((len(rows), 2))
            for number, (cell, (total, count)) in enumerate(zip(cells, sums, strict=True)):
                others[cell, 0] = number
                others[cell, 1] = _shrunk(total - sizes[cell], count - 1.0, typical)
            return made, made._smoothed(rows, others)
        expected = np.empty(len(rows))
        for fold in np.unique(fold_of):
            kept = [cell[fold_of[cell] != fold] for cell in cells]
            elsewhere = np.array([_shrunk(float(sizes[cell].sum()), float(len(cell)), typical) for cell in kept])
            own = fold_of == fold
            expected[own] = replace(made, size=elsewhere)._smoothed(rows[own])
        return made, expected

    def at(self, columns: FloatArray) -> FloatArray:
        """Expected size of the residual of each row, shape (n_rows,), between the smallest and largest of the cells'."""
        rows = _standardised(np.arcsinh(columns / self.unit), self.middle, self.width)
        chunks = [rows[start : start + ROWS_A_CHUNK] for start in range(0, len(rows), ROWS_A_CHUNK)]
        return np.concatenate([np.empty(0), *(self._smoothed(chunk) for chunk in chunks)])

    def spread(self) -> float:
        """Root mean square of the sizes over the training rows."""
        return float(np.sqrt(np.square(self.size).mean()))

    def _smoothed(self, rows: FloatArray, own: FloatArray | None = None) -> FloatArray:
        distance = _squared_distances(rows, self.centres)
        weight = np.exp((distance.min(axis=1, keepdims=True) - distance) / self.bandwidth)
        above, below = np.zeros(len(rows)), np.zeros(len(rows))
        for number, (column, size) in enumerate(zip(weight.T, self.size, strict=True)):
            above += column * (size if own is None else np.where(own[:, 0] == number, own[:, 1], size))
            below += column
        return above / below

    def to_dict(self) -> dict[str, Any]:
        """Centres and scaling as JSON types."""
        return {
            "unit": self.unit.tolist(),
            "middle": self.middle.tolist(),
            "width": self.width.tolist(),
            "centres": self.centres.tolist(),
            "size": self.size.tolist(),
            "bandwidth": self.bandwidth,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> Difficulty:
        """What `to_dict` wrote; DataError with the JSON path otherwise."""
        with Fields(document, path) as fields:
            unit = fields.numbers("unit", lower=0.0)
            size = fields.numbers("size", lower=0.0)
            if len(size) == 0 or not (unit > 0.0).all():
                raise DataError("got no centre, or a unit of zero", place=path)
            middle, width = fields.numbers("middle", len(unit)), fields.numbers("width", len(unit), lower=0.0)
            return cls(
                unit, middle, width, fields.matrix("centres", len(size), len(unit)), size, fields.number("bandwidth", lower=1e-12)
            )


def left_out_scores(
    columns: FloatArray, residuals: FloatArray, fold_of: IntArray | None = None, n_parameters: int = 1
) -> tuple[ResidualQuantiles, Difficulty | None]:
    """Quantiles of left-out residuals, each divided by the size expected at its row where that can be learned.

    Parameters
    ----------
    columns : array, shape (n_samples, n_columns)
        What the sizes may depend on.
    residuals : array, shape (n_samples,)
    fold_of : array of int, shape (n_samples,), optional
        Fold that left out each row.
    n_parameters : int
        Of the model; see `ResidualQuantiles`.

    References
    ----------
    Lei, G'Sell, Rinaldo, Tibshirani and Wasserman (2018), Distribution-free predictive inference for regression, section 5.2
    (locally weighted conformal inference).
    """
    made = Difficulty.fit(columns, residuals, fold_of)
    if made is None:
        return ResidualQuantiles.of(residuals, n_parameters), None
    return ResidualQuantiles.of(residuals / made[1], n_parameters), made[0]


def _shrunk(total: Any, count: float, typical: float) -> Any:
    """Mean of a cell, drawn towards the mean of all, and never below a tenth of it."""
    return np.maximum((total + PRIOR_ROWS * typical) / (count + PRIOR_ROWS), 0.1 * typical)


def _standardised(turned: FloatArray, middle: FloatArray, width: FloatArray) -> FloatArray:
    varies = width > 0.0
    return np.asarray(np.where(varies, (turned - middle) / np.where(varies, width, 1.0), 0.0))


def _cells(rows: FloatArray) -> list[IntArray]:
    """Rows in cells of equal counts: the largest cell is halved at the median of its widest column, again and again."""
    wanted = max(2, min(MAX_CENTRES, MAX_NUMBERS // rows.shape[1], len(rows) // ROWS_A_CENTRE))
    cells = [np.arange(len(rows))]
    while len(cells) < wanted:
        place = int(np.argmax([len(cell) for cell in cells]))
        cell = cells[place]
        column = int(np.argmax(rows[cell].var(axis=0)))
        order = cell[np.argsort(rows[cell, column], kind="stable")]
        cells[place : place + 1] = [order[: len(order) // 2], order[len(order) // 2 :]]
    return cells


def _squared_distances(rows: FloatArray, centres: FloatArray) -> FloatArray:
    """Shape (n_rows, n_centres); columns are added in order, without BLAS."""
    total = np.zeros((len(rows), len(centres)))
    for row, centre in zip(rows.T, centres.T, strict=True):
        total += np.square(np.subtract.outer(row, centre))
    return total
