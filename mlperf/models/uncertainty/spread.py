"""What a linear model keeps to say how sure it is: covariance, sigma, left-out residuals, stored draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlperf.core.arrays import LARGEST, FloatArray
from mlperf.core.errors import DataError, FitError, UsageError
from mlperf.core.json_fields import Fields
from mlperf.models.algebra.fixed_order import evaluate_fixed_order, squared_length_fixed_order
from mlperf.models.uncertainty.difficulty import Difficulty
from mlperf.models.uncertainty.draws import coefficient_draws, run_noise
from mlperf.models.uncertainty.intervals import NOISES, Interval, check_kind, conformal_interval, run_std_err, student_interval
from mlperf.models.uncertainty.residual_quantiles import ResidualQuantiles

METHODS = ("auto", "student", "conformal")


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Uncertainty of one linear model on the scale that it was fitted on.

    Attributes
    ----------
    coef : array, shape (n_columns,)
        Coefficients of the design matrix that `interval` and `sample` are given.
    factor : array, shape (n_columns, n_columns), or None
        Upper triangle, inverse of the triangle of the fitted (weighted) rows; None where only draws describe the fit.
    sigma : float
        Residual standard deviation: unit of y (absolute), a fraction (relative), of log y (log). After a selection that of the
        model with all terms: the selected model's own is too small.
    df : float
        Degrees of freedom of ``sigma``.
    noise : {"absolute", "relative", "log"}
    residuals : ResidualQuantiles or None
        Left-out residuals from grouped folds; with them prediction intervals assume no normal distribution.
    difficulty : Difficulty or None
        Size expected of a row's residual; ``residuals`` are then in these sizes.
    draws : array, shape (n_draws, n_columns), or None
        Bootstrap coefficients, for fits whose errors have no formula.
    smearing : float
        What the design's product (its exponential for log) is multiplied by to give the mean. Runs of a log fit have none: their
        own noise already moves their mean.
    """

    coef: FloatArray
    factor: FloatArray | None
    sigma: float
    df: float
    noise: str = "absolute"
    residuals: ResidualQuantiles | None = None
    draws: FloatArray | None = None
    smearing: float = 1.0
    difficulty: Difficulty | None = None

    def std_err(self, matrix: FloatArray) -> FloatArray:
        """Standard error of the fitted mean of each row (of its logarithm for log), shape (n_rows,)."""
        if self.factor is not None:
            return self.sigma * np.sqrt(squared_length_fixed_order(matrix, self.factor))
        if self.draws is None:
            raise FitError("no covariance and no bootstrap draws are stored", hint="Fit with n_draws > 0 to get intervals.")
        return np.asarray(np.std([evaluate_fixed_order(matrix, coef) for coef in self.draws], axis=0, ddof=1))

    def interval(
        self, matrix: FloatArray, *, kind: str = "mean", level: float = 0.95, mean_of: int = 1, method: str = "auto"
    ) -> Interval:
        """Interval of each row of a design matrix.

        Parameters
        ----------
        matrix : array, shape (n_rows, n_columns)
        kind : {"mean", "run"}
            Confidence of the mean, or prediction of a run.
        level : float
        mean_of : int
            Predict the mean of this many runs (``kind="run"``).
        method : {"auto", "student", "conformal"}
            For runs: left-out residuals where they are stored, else Student's t; or one of them on demand.

        Returns
        -------
        Interval
            In the unit of y. That of a run holds that of the mean.

        Raises
        ------
        UsageError
            Unknown kind or method, or ``conformal`` without stored residuals.
        FitError
            No residual degree of freedom, or nothing stored to take errors from.
        """
        check_kind(kind, level, mean_of)
        if method not in METHODS or (method == "conformal" and self.residuals is None):
            raise UsageError(
                f"got method={method!r}, expected one of {', '.join(METHODS)}", hint="conformal needs residuals from grouped folds."
            )
        centre = evaluate_fixed_order(matrix, self.coef)
        if kind == "run" and self.residuals is not None and method != "student":
            size = self._shrink(mean_of) * (1.0 if self.difficulty is None else self.difficulty.at(matrix))
            found = self._measured(conformal_interval(centre, self.residuals, self.noise, level, size), kind)
            return found.including(self.interval(matrix, level=level)) if self._knows_the_mean() else found
        std_err = self.std_err(matrix)
        if kind == "run":
            std_err = run_std_err(std_err, self.sigma, centre, self.noise, mean_of)
        return self._measured(student_interval(centre, std_err, self.df, level), kind)

    def _knows_the_mean(self) -> bool:
        return self.df > 0.0 and (self.factor is not None or self.draws is not None)

    def sample(self, matrix: FloatArray, rng: np.random.Generator, size: int, kind: str = "mean") -> FloatArray:
        """Joint draws of the predictions of all rows.

        Returns
        -------
        array, shape (size, n_rows)
            In the unit of y. Stored draws are used as they are, in order, where ``size`` is their number: draw b belongs to draw b
            of every component that was fitted on the same rows with the same seed; otherwise they are picked by ``rng``.
        """
        check_kind(kind, 0.5)
        drawn = self._coefficients(rng, size) @ matrix.T
        if kind == "run":
            own = run_noise(rng, drawn.shape, self.sigma, self.residuals)
            if self.difficulty is not None:
                own *= self.difficulty.at(matrix) / self.difficulty.spread()
            drawn = drawn * (1.0 + own) if self.noise == "relative" else drawn + own
        return self._factor(kind) * (np.exp(drawn) if self.noise == "log" else drawn)

    def _coefficients(self, rng: np.random.Generator, size: int) -> FloatArray:
        if self.draws is not None:
            return self.draws if size == len(self.draws) else self.draws[rng.integers(0, len(self.draws), size)]
        if self.factor is None or not self.df > 0.0:
            raise FitError("no covariance and no bootstrap draws are stored", hint="Fit with n_draws > 0 to sample.")
        return coefficient_draws(self.coef, self.factor, self.sigma, self.df, rng, size)

    def _factor(self, kind: str) -> float:
        return 1.0 if self.noise == "log" and kind == "run" else self.smearing

    def _measured(self, interval: Interval, kind: str) -> Interval:
        """From the scale of the fit to the unit of y."""
        factor, turn = self._factor(kind), np.exp if self.noise == "log" else np.asarray
        return Interval(factor * turn(interval.lower), factor * turn(interval.upper), interval.level)

    def _shrink(self, mean_of: int) -> float:
        """Width of the mean of several runs: only the runs' own noise averages out, not the model's error."""
        if self.residuals is None or self.residuals.spread == 0.0 or mean_of == 1:
            return 1.0
        size = 1.0 if self.difficulty is None else self.difficulty.spread()
        own = min(self.sigma / (self.residuals.spread * size), 1.0) ** 2
        return float(np.sqrt(1.0 - own * (1.0 - 1.0 / mean_of)))

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON types; the triangle's upper half row by row."""
        return {
            "coef": self.coef.tolist(),
            "factor": None if self.factor is None else self.factor[np.triu_indices(len(self.coef))].tolist(),
            "sigma": self.sigma,
            "df": self.df,
            "noise": self.noise,
            "residuals": None if self.residuals is None else self.residuals.to_dict(),
            "draws": None if self.draws is None else self.draws.tolist(),
            "smearing": self.smearing,
            "difficulty": None if self.difficulty is None else self.difficulty.to_dict(),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> Spread:
        """What `to_dict` wrote; DataError with the JSON path otherwise."""
        with Fields(document, path) as fields:
            coef = fields.numbers("coef")
            n_factors = len(coef) * (len(coef) + 1) // 2
            factor = None if fields.absent("factor") else fields.numbers("factor", n_factors)
            if factor is not None and (np.abs(factor) > LARGEST).any():
                raise DataError(f"expected numbers up to {LARGEST:g}", place=f"{path}.factor")
            return cls(
                coef,
                None if factor is None else _triangle(factor, len(coef)),
                fields.number("sigma", finite=False),
                fields.number("df", lower=0.0, finite=False),
                fields.text("noise", NOISES),
                None if fields.absent("residuals") else ResidualQuantiles.from_dict(fields.raw("residuals"), f"{path}.residuals"),
                None if fields.absent("draws") else fields.matrix("draws", None, len(coef)),
                fields.number("smearing"),
                None if fields.absent("difficulty") else Difficulty.from_dict(fields.raw("difficulty"), f"{path}.difficulty"),
            )


def _triangle(upper: FloatArray, n_columns: int) -> FloatArray:
    triangle = np.zeros((n_columns, n_columns))
    triangle[np.triu_indices(n_columns)] = upper
    return triangle
