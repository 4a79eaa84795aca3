"""Recursive least squares, one row at a time: forgetting, a clipped residual, a capped covariance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray

LARGEST_CONDITION = 1e3
"""Columns of unit length; a covariance recursion begun here loses about 2 * log10 of it in digits."""


class ExactStart:
    """Rows so far as the triangle of their QR factorisation.

    Parameters
    ----------
    n_columns : int
        Columns of a row.
    """

    def __init__(self, n_columns: int) -> None:
        self.n_columns = n_columns
        self.rows = np.zeros((0, n_columns + 1))

    def add(self, row: FloatArray, target: float, forgetting: float) -> None:
        """Take in one row, shape (n_columns,); earlier ones lose the factor ``forgetting`` of their weight."""
        stacked = np.vstack([self.rows * math.sqrt(forgetting), np.append(row, target)])
        self.rows = np.asarray(np.linalg.qr(stacked, mode="r")) if len(stacked) > self.n_columns + 1 else stacked

    def coefficients(self) -> FloatArray:
        """Least-squares coefficients of least norm, shape (n_columns,)."""
        matrix, scale = self._scaled()
        found = np.linalg.lstsq(matrix, self.rows[:, -1], rcond=None)[0]
        return np.asarray(found / scale)

    def covariance(self) -> FloatArray | None:
        """(X'WX)^-1, shape (n_columns, n_columns); None while the columns are too nearly collinear to go on from."""
        matrix, scale = self._scaled()
        if len(matrix) < self.n_columns:
            return None
        singular, right = np.linalg.svd(matrix)[1:]
        if singular[-1] * LARGEST_CONDITION < singular[0]:
            return None
        half = right / singular[:, None] / scale
        return np.asarray(half.T @ half)

    def _scaled(self) -> tuple[FloatArray, FloatArray]:
        """Columns of unit length, and their lengths (1 for a zero column)."""
        matrix = self.rows[:, :-1]
        length = np.sqrt((matrix**2).sum(axis=0))
        scale = np.where(length > 0, length, 1.0)
        return matrix / scale, scale


OUTLIER_SCALES = 4.0
"""The running scale itself sees no residual larger than this many scales: one jump must not widen the clip for long."""


@dataclass(frozen=True, slots=True)
class RecursionSettings:
    """How a recursion forgets and what it distrusts.

    Attributes
    ----------
    forgetting : float
        lambda in (0, 1]: weight of a row relative to the next one; 1 forgets nothing.
    clip : float or None
        Residuals count up to this many running scales (Huber); None: in full.
    prior_variance : float or None
        Variance of the coefficients around zero before the first row, in units of the noise variance; None: no prior, the
        first rows are fitted exactly.
    max_trace : float or None
        Cap of the covariance's trace, so that forgetting without news does not make the next row mean everything; None: the
        prior's trace, or none without prior.
    scale_rate : float
        Share of the newest residual in the running scale.
    """

    forgetting: float = 1.0
    clip: float | None = None
    prior_variance: float | None = None
    max_trace: float | None = None
    scale_rate: float = 0.02


class Recursion:
    """Coefficients that follow a stream of rows.

    With gain k = P x / (lambda + x' P x): coef += k clip(y - x' coef), P = (P - k x' P) / lambda. With lambda = 1, no clipping and
    no prior these are the least-squares coefficients of all rows so far.

    Parameters
    ----------
    n_columns : int
        Columns of a row.
    settings : RecursionSettings
        Forgetting, clipping, prior.
    prior_variances : array, shape (n_columns,), optional
        A prior variance for each column in place of one for all.

    Attributes
    ----------
    coef : array, shape (n_columns,)
    scale : float
        Running mean of the absolute residual before each row was learnt; NaN before the first.
    n_rows : int
        Rows learnt.
    n_capped : int
        How often the trace was brought back to its cap.

    References
    ----------
    Ljung (1999), System Identification, section 11.2; Huber (1964) for the clipped residual.
    """

    def __init__(self, n_columns: int, settings: RecursionSettings, prior_variances: FloatArray | None = None) -> None:
        self.settings = settings
        self.coef = np.zeros(n_columns)
        self.scale = math.nan
        self.n_rows = self.n_capped = 0
        if prior_variances is None and settings.prior_variance is not None:
            prior_variances = np.full(n_columns, settings.prior_variance)
        self.start = ExactStart(n_columns) if prior_variances is None else None
        self.covariance = np.zeros((n_columns, n_columns)) if prior_variances is None else np.diag(prior_variances)
        self.max_trace = settings.max_trace
        if self.max_trace is None:
            self.max_trace = math.inf if prior_variances is None else float(prior_variances.sum())

    def predict(self, row: FloatArray) -> float:
        """Fitted value of a row, shape (n_columns,)."""
        return float(row @ self.coef)

    def learn(self, row: FloatArray, target: float) -> float:
        """Take in one row and its target; returns the residual before learning."""
        residual = target - float(row @ self.coef)
        counted = self._clipped(residual)
        if self.start is None:
            self._follow(row, counted)
        else:
            self._begin(self.start, row, target)
        self.n_rows += 1
        return residual

    def _clipped(self, residual: float) -> float:
        """The residual as far as it counts; moves the running scale."""
        size = abs(residual)
        if math.isnan(self.scale):
            self.scale = size
        limit = math.inf if self.settings.clip is None or self.scale == 0.0 else self.settings.clip * self.scale
        seen = min(size, OUTLIER_SCALES * self.scale) if self.scale > 0.0 else size
        self.scale += self.settings.scale_rate * (seen - self.scale)
        return max(-limit, min(limit, residual))

    def _begin(self, start: ExactStart, row: FloatArray, target: float) -> None:
        """A row without prior: exact, and the covariance recursion takes over once the columns are distinguished."""
        start.add(row, target, self.settings.forgetting)
        self.coef = start.coefficients()
        covariance = start.covariance()
        if covariance is not None:
            self.covariance, self.start = covariance, None

    def _follow(self, row: FloatArray, residual: float) -> None:
        """One step of the covariance recursion."""
        forgetting = self.settings.forgetting
        direction = self.covariance @ row
        spread = forgetting + float(row @ direction)
        self.coef += direction * (residual / spread)
        # One vector with itself: the covariance stays symmetric to the last bit.
        direction /= math.sqrt(spread)
        self.covariance -= np.multiply.outer(direction, direction)
        if forgetting < 1.0:
            self.covariance /= forgetting
            self._cap()

    def _cap(self) -> None:
        """Shrink a covariance that grew beyond the cap."""
        trace = float(self.covariance.trace())
        if self.max_trace is not None and trace > self.max_trace:
            self.covariance *= self.max_trace / trace
            self.n_capped += 1
