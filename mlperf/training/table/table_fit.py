"""What predicts one column of a table: the chosen method inside the measured domain, the best one beyond it, their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import FitError
from mlperf.core.json_fields import Fields
from mlperf.models.uncertainty.difficulty import Difficulty
from mlperf.models.uncertainty.intervals import Interval, conformal_interval
from mlperf.models.uncertainty.residual_quantiles import ResidualQuantiles
from mlperf.models.validation.left_out import no_interval
from mlperf.training.fits.ratio_model import LARGEST_SCALE
from mlperf.training.table.label_errors import label_errors_from, label_errors_to_dict
from mlperf.training.table.reach import Reach
from mlperf.training.table.table_regressor import TableRegressor


@dataclass(frozen=True, slots=True, eq=False)
class RowAnswers:
    """What is said of some rows: ``predicted`` and ``in_domain``, shape (n_rows,), intervals of the ``mean`` and of a ``run``."""

    predicted: FloatArray
    in_domain: BoolArray
    mean: Interval
    run: Interval


@dataclass(frozen=True, slots=True, eq=False)
class TableFit:
    """Fitted methods of one column.

    Attributes
    ----------
    chosen : TableRegressor
        Predicts rows inside the measured domain.
    beyond : TableRegressor or None
        Predicts rows outside it; None: ``chosen`` does.
    explained : TableRegressor
        Weighted least squares with terms chosen by AIC, whatever predicts: t, F, p, adjusted R².
    residuals, residuals_beyond : ResidualQuantiles or None
        log(measured / predicted) of left-out rows, inside and beyond; None where nothing could be left out.
    difficulty : Difficulty or None
        Where the residuals are larger.
    total_scale : float
        Factor on every prediction; 1 unless totals were asked to be kept.
    label_errors : mapping of str to ResidualQuantiles
        By column, log(measured / predicted) of rows whose label was left out; only where enough labels were measured.
    reach : Reach or None
        Up to which distance ``residuals_beyond`` were tested; None where no larger rows were left out, and in earlier files.
    """

    chosen: TableRegressor
    beyond: TableRegressor | None
    explained: TableRegressor
    residuals: ResidualQuantiles | None
    difficulty: Difficulty | None
    residuals_beyond: ResidualQuantiles | None
    total_scale: float = 1.0
    label_errors: Mapping[str, ResidualQuantiles] = field(default_factory=dict)
    reach: Reach | None = None

    @property
    def estimator(self) -> Any:
        """The explainable fit."""
        return self.explained.member_

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that a row to predict must have."""
        both = (*self.chosen.columns_, *(() if self.beyond is None else self.beyond.columns_))
        return tuple(dict.fromkeys(both))

    @property
    def levels(self) -> dict[str, frozenset[str]]:
        """Labels that the fits have seen, by column."""
        fits = (self.chosen,) if self.beyond is None else (self.chosen, self.beyond)
        found: dict[str, frozenset[str]] = {}
        for name, levels in (item for fit in fits for item in fit.levels_.columns.items() if item[0] in self.columns):
            found[name] = found.get(name, frozenset()) | {*levels.kept, *levels.pooled}
        return found

    @property
    def answers_beyond(self) -> TableRegressor:
        """What predicts rows outside the measured domain."""
        return self.chosen if self.beyond is None else self.beyond

    def is_cut_off(self, rows: pd.DataFrame) -> BoolArray:
        """Rows for which the chosen method says less than a quarter of the shortest measured time, shape (n_rows,)."""
        return self.chosen.predict(self._own(rows, self.chosen)) <= self.chosen.least_

    def undefined(self, rows: pd.DataFrame) -> BoolArray:
        """Rows on which a term has no value, as the logarithm of zero has none, so that none is predicted; shape (n_rows,)."""
        chosen = self.chosen.undefined(self._own(rows, self.chosen))
        return chosen if self.beyond is None else chosen | self.beyond.undefined(self._own(rows, self.beyond))

    def predict(self, rows: pd.DataFrame) -> FloatArray:
        """The target of each row, shape (n_rows,)."""
        return self._located(rows)[0]

    def in_domain(self, rows: pd.DataFrame) -> BoolArray:
        """Whether each row lies inside the measured domain."""
        return self.chosen.in_domain(self._own(rows, self.chosen))

    def predict_interval(self, rows: pd.DataFrame, kind: str = "run", level: float = 0.95) -> Interval:
        """Interval of the mean or of a run of every row, shape (n_rows,); that of a run holds that of the mean."""
        found = self.answers(rows, level)
        return found.mean if kind == "mean" else found.run

    def answers(self, rows: pd.DataFrame, level: float = 0.95) -> RowAnswers:
        """Everything that is said of some rows, each method asked once."""
        centre, inside = self._located(rows)
        mean = self._own_interval(rows, "mean", level)
        if self.residuals is None:
            # Without left-out rows nothing but the other labels tells how far a label without a coefficient may lie.
            own = self._own_interval(rows, "run", level)
            return RowAnswers(
                centre, inside, self._over_labels(rows, inside, mean, "mean"), self._over_labels(rows, inside, own, "run")
            )
        # Left-out errors are those of the method itself; where totals were asked to be kept, the prediction is no longer its own.
        run = self._run_interval(rows, centre / self.total_scale, inside, level, self.residuals)
        lower, upper = np.where(inside, mean.lower, np.nan), np.where(inside, mean.upper, np.nan)
        known = Interval(np.where(np.isnan(lower), run.lower, lower), np.where(np.isnan(upper), run.upper, upper), level)
        return RowAnswers(centre, inside, known, Interval(np.fmin(run.lower, lower), np.fmax(run.upper, upper), level))

    def _located(self, rows: pd.DataFrame) -> tuple[FloatArray, BoolArray]:
        """Prediction of each row, and whether it lies inside the measured domain."""
        centre, inside = self.chosen.predict_flagged(self._own(rows, self.chosen))
        if self.beyond is not None and not inside.all():
            centre[~inside] = self.beyond.predict(self._own(rows[~inside], self.beyond))
        return self.total_scale * centre, inside

    def _own_interval(self, rows: pd.DataFrame, kind: str, level: float) -> Interval:
        """What the method itself says; NaN where it says nothing."""
        try:
            found = self.chosen.predict_interval(self._own(rows, self.chosen), kind, level)
        except (AttributeError, FitError):
            return no_interval(len(rows), level)
        return Interval(self.total_scale * found.lower, self.total_scale * found.upper, level)

    def _run_interval(
        self, rows: pd.DataFrame, centre: FloatArray, inside: BoolArray, level: float, residuals: ResidualQuantiles
    ) -> Interval:
        """From the errors on left-out rows, about what the methods say themselves."""
        size = 1.0 if self.difficulty is None else self.difficulty.at(self._numbers(rows))
        logs = np.log(centre)
        near = conformal_interval(logs, residuals, "log", level, size)
        if inside.all():
            return Interval(np.exp(near.lower), np.exp(near.upper), level)
        lower, upper = near.lower, near.upper
        if self.residuals_beyond is not None:
            far = conformal_interval(logs, self.residuals_beyond, "log", level)
            # Beyond the measured sizes no interval is narrower than within them.
            lower = np.where(inside, near.lower, np.minimum(near.lower, far.lower))
            upper = np.where(inside, near.upper, np.maximum(near.upper, far.upper))
        if self.reach is not None:
            wider = np.where(inside, 1.0, self.reach.wider(rows, centre))
            lower = np.minimum(lower, logs + wider * (lower - logs))
            upper = np.maximum(upper, logs + wider * (upper - logs))
        lower, upper = self._wider_for_labels(rows, logs, inside, Interval(lower, upper, level))
        return Interval(np.exp(lower), np.exp(upper), level)

    def _guessed(self, rows: pd.DataFrame, inside: BoolArray) -> dict[str, BoolArray]:
        """By column, rows outside the measured domain whose label is predicted as another one."""
        columns = {name: each for name, each in self.answers_beyond.levels_.columns.items() if name in rows}
        found = {name: ~inside & levels.guessed(rows[name]) for name, levels in columns.items()}
        return {name: guessed for name, guessed in found.items() if guessed.any()}

    def _relabelled(self, rows: pd.DataFrame, name: str) -> list[pd.DataFrame]:
        """The rows with each label of a column that has a coefficient of its own."""
        return [rows.assign(**{name: label}) for label in self.answers_beyond.levels_.columns[name].known]

    def _wider_for_labels(
        self, rows: pd.DataFrame, logs: FloatArray, inside: BoolArray, usual: Interval
    ) -> tuple[FloatArray, FloatArray]:
        """Bounds of log time: a label without a coefficient errs as labels did that were left out, or may be any known one."""
        lower, upper = usual.lower.copy(), usual.upper.copy()
        below, above, noise = np.zeros_like(logs), np.zeros_like(logs), np.zeros(len(logs), bool)
        for name, guessed in self._guessed(rows, inside).items():
            if name in self.label_errors:
                low, high = self.label_errors[name].bounds(usual.level)
                below[guessed] += min(low, 0.0)
                above[guessed] += max(high, 0.0)
                continue
            asked = self._relabelled(self._own(rows[guessed], self.answers_beyond), name)
            each = np.log([self.answers_beyond.predict(frame) for frame in asked]) - logs[guessed]
            below[guessed] += np.minimum(each.min(axis=0, initial=0.0), 0.0)
            above[guessed] += np.maximum(each.max(axis=0, initial=0.0), 0.0)
            noise |= guessed
        # Errors of left-out labels hold the noise of a run already; the span of the predictions does not.
        lower = np.minimum(lower, logs + below + np.where(noise, lower - logs, 0.0))
        upper = np.maximum(upper, logs + above + np.where(noise, upper - logs, 0.0))
        return lower, upper

    def _over_labels(self, rows: pd.DataFrame, inside: BoolArray, own: Interval, kind: str) -> Interval:
        """The method's own interval of every known label where a row's has no coefficient, one holding all of them."""
        lower, upper = own.lower.copy(), own.upper.copy()
        for name, guessed in self._guessed(rows, inside).items():
            for frame in self._relabelled(rows[guessed], name):
                one = self._own_interval(frame, kind, own.level)
                lower[guessed], upper[guessed] = np.fmin(lower[guessed], one.lower), np.fmax(upper[guessed], one.upper)
        return Interval(lower, upper, own.level)

    @staticmethod
    def _own(rows: pd.DataFrame, regressor: TableRegressor) -> pd.DataFrame:
        return rows[list(regressor.columns_)]

    def _numbers(self, rows: pd.DataFrame) -> FloatArray:
        return numbers_of(self._own(rows, self.chosen))

    def to_dict(self) -> dict[str, Any]:
        """JSON types; `from_dict` reads them back."""
        own = self.explained is self.chosen
        return {
            "chosen": self.chosen.to_dict(),
            "beyond": None if self.beyond is None else self.beyond.to_dict(),
            "explained": None if own else self.explained.to_dict(),
            "residuals": None if self.residuals is None else self.residuals.to_dict(),
            "difficulty": None if self.difficulty is None else self.difficulty.to_dict(),
            "residuals_beyond": None if self.residuals_beyond is None else self.residuals_beyond.to_dict(),
            "total_scale": self.total_scale,
            **({"label_errors": label_errors_to_dict(self.label_errors)} if self.label_errors else {}),
            **({} if self.reach is None else {"reach": self.reach.to_dict()}),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> TableFit:
        """The inverse of `to_dict`; DataError with the JSON path of what is wrong."""
        with Fields(document, path) as fields:

            def read(key: str, kind: Any) -> Any:
                return None if fields.absent(key) else kind.from_dict(fields.raw(key), f"{path}.{key}")

            chosen = TableRegressor.from_dict(fields.raw("chosen"), f"{path}.chosen")
            return cls(
                chosen=chosen,
                beyond=read("beyond", TableRegressor),
                explained=read("explained", TableRegressor) or chosen,
                residuals=read("residuals", ResidualQuantiles),
                difficulty=read("difficulty", Difficulty),
                residuals_beyond=read("residuals_beyond", ResidualQuantiles),
                total_scale=fields.number("total_scale", lower=0.0, upper=LARGEST_SCALE),
                label_errors=label_errors_from(fields, "label_errors"),
                reach=None if fields.missing("reach") else read("reach", Reach),
            )


def numbers_of(frame: pd.DataFrame) -> FloatArray:
    """Columns of numbers, shape (n_rows, n_numeric)."""
    return np.asarray(frame.select_dtypes("number", exclude="timedelta"), dtype=np.float64)
