"""scikit-learn's learners under the protocol of the room: log target, same errors, same domain, same intervals."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import FitError, UsageError
from mlperf.core.shown import Shown
from mlperf.core.threads import one_thread
from mlperf.models.estimators.time_regressor import TimeRegressor
from mlperf.models.formula.inputs import finite_columns, learn_terms, query_frame, training_rows
from mlperf.models.uncertainty.domain import Domain
from mlperf.models.uncertainty.intervals import Interval, check_kind, conformal_interval, cv_plus_interval
from mlperf.models.uncertainty.residual_quantiles import ResidualQuantiles
from mlperf.models.validation.folds import Fold, configuration_groups, group_labels, grouped_folds
from mlperf.models.validation.left_out import fold_numbers, over_folds
from mlperf.models.validation.scores import ErrorSummary, relative_errors

LOWEST, HIGHEST = 0.25, 4.0
"""Predictions stay between a quarter of the smallest and four times the largest training time."""
BATCH_ROWS = 256
GRID_ROWS, GRID_STEPS = 100, 20


@dataclass(frozen=True, slots=True)
class Kind:
    """How one learner is made: ``build(seed, monotonic_cst)``, at most ``max_rows`` rows, whether constraints are obeyed."""

    build: Callable[[int, list[int] | None], Any]
    max_rows: int
    obeys_monotone: bool = False


def _ridge(seed: int, monotonic_cst: list[int] | None) -> Any:
    from sklearn.linear_model import RidgeCV

    del seed, monotonic_cst
    return RidgeCV(alphas=10.0 ** np.arange(-4, 4))


def _forest(seed: int, monotonic_cst: list[int] | None) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(n_estimators=200, min_samples_leaf=2, random_state=seed, monotonic_cst=monotonic_cst)


def _boosting(seed: int, monotonic_cst: list[int] | None) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(max_iter=250, early_stopping=False, random_state=seed, monotonic_cst=monotonic_cst)


def _gaussian_process(seed: int, monotonic_cst: list[int] | None) -> Any:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel

    del monotonic_cst
    kernel = 1.0 * RBF(2.0, (0.1, 100.0)) + WhiteKernel(0.01, (1e-6, 1.0))
    return GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed)


def _svr(seed: int, monotonic_cst: list[int] | None) -> Any:
    from sklearn.svm import SVR

    del seed, monotonic_cst
    return SVR(C=10.0, epsilon=0.02)


LEARNERS: Mapping[str, Kind] = {
    #                        made by           rows        monotone
    "ridge": Kind(_ridge, 1_000_000),
    "forest": Kind(_forest, 50_000, obeys_monotone=True),
    "boosting": Kind(_boosting, 1_000_000, obeys_monotone=True),
    "gaussian_process": Kind(_gaussian_process, 600),
    "svr": Kind(_svr, 5_000),
}


@dataclass(frozen=True, slots=True, eq=False)
class LogAxes:
    """Columns as learners see them: log2 of positive columns with more than two values, then mean 0 and deviation 1.

    ``logarithmic``, ``floor``, ``centre`` and ``deviation`` have shape (n_columns,).
    """

    logarithmic: BoolArray
    floor: FloatArray
    centre: FloatArray
    deviation: FloatArray

    @classmethod
    def fit(cls, features: FloatArray) -> LogAxes:
        """Choose from training columns, shape (n_rows, n_columns)."""
        several = np.array([len(np.unique(column)) > 2 for column in features.T], dtype=bool)
        logarithmic = several & (features.min(axis=0) > 0)
        floor = np.where(logarithmic, features.min(axis=0) / 1024.0, 0.0)
        plain = cls(logarithmic, floor, np.zeros(len(floor)), np.ones(len(floor))).apply(features)
        deviation = plain.std(axis=0)
        return cls(logarithmic, floor, plain.mean(axis=0), np.where(deviation > 0, deviation, 1.0))

    def apply(self, features: FloatArray) -> FloatArray:
        """Scaled columns, shape (n_rows, n_columns)."""
        logs = np.log2(np.where(self.logarithmic, np.maximum(features, self.floor), 1.0))
        return np.asarray((np.where(self.logarithmic, logs, features) - self.centre) / self.deviation)


@dataclass(frozen=True, slots=True, eq=False)
class LearnerReport(Shown):
    """How a learner did on training rows that it had not seen.

    ``n_used`` of ``n_samples`` rows trained it (some learners take no more); ``errors`` are those of left-out groups, None without
    folds; ``monotone_falls`` is the share of steps on a grid of monotone columns on which the prediction falls.
    """

    learner: str
    n_samples: int
    n_used: int
    smearing: float
    errors: ErrorSummary | None
    monotone_falls: float


@dataclass(eq=False, repr=False)
class LogLearner(TimeRegressor):
    """A learner of log time.

    Parameters
    ----------
    learner : {"boosting", "forest", "ridge", "gaussian_process", "svr"}
    terms : sequence of str, optional
        Arithmetic expressions that the learner sees; default every column. Factors become indicator columns.
    monotone : sequence of str
        Terms in which the time may not fall; obeyed by boosting and forest, checked afterwards.
    smearing : bool
        Whether predictions are means: the median times the mean of measured / median over left-out rows.
    n_folds : int
        Grouped folds behind left-out errors, smearing and CV+ intervals; below 2 there are none.
    random_state : int
        Of folds, learners and of the choice of rows where there are too many.

    Attributes
    ----------
    learner_ : estimator
        The fitted scikit-learn learner, on scaled columns and log time.
    report_ : LearnerReport
    """

    uses_groups = True

    learner: str = "boosting"
    terms: Sequence[str] | None = None
    monotone: Sequence[str] = ()
    smearing: bool = True
    n_folds: int = 5
    random_state: int = 0

    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Train on log time; with folds also learn how far left-out groups are missed.

        Parameters
        ----------
        X : DataFrame or array, shape (n_samples, n_columns)
        y : array-like, shape (n_samples,)
            Positive times.
        groups : array-like, shape (n_samples,), optional
            Rows left out together; default identical rows of features.

        Raises
        ------
        UsageError
            An unknown learner, or a monotone term that it does not see.
        FitError
            A time that is not positive.
        """
        if self.learner not in LEARNERS:
            raise UsageError(f"got learner {self.learner!r}, expected one of {', '.join(LEARNERS)}")
        rows = training_rows(self, X, y, terms=self.terms)
        self.terms_ = learn_terms(self.terms, rows.frame, intercept=False)
        columns = finite_columns(self.terms_, rows.frame)
        self.axes_ = LogAxes.fit(columns.matrix)
        features, target = self.axes_.apply(columns.matrix), np.log(rows.y)
        self.time_range_ = (float(rows.y.min()), float(rows.y.max()))
        self.domain_ = Domain.fit(rows.frame)
        constraints = self._constraints(columns.names)
        self.learner_, n_used = self._train(features, target, constraints)
        keys = configuration_groups(rows.frame) if groups is None else group_labels(groups, len(rows.y))
        errors = self._leave_out(features, target, keys, constraints)
        self.report_ = LearnerReport(
            self.learner, len(target), n_used, self.smearing_, errors, self._falls(features, columns.names)
        )
        return self

    def _constraints(self, names: Sequence[str]) -> list[int] | None:
        unknown = sorted(set(self.monotone) - set(names))
        if unknown:
            raise UsageError(f"got monotone term {unknown[0]!r}, expected one of {', '.join(names)}")
        return [int(name in self.monotone) for name in names] if self.monotone else None

    def _train(self, features: FloatArray, target: FloatArray, constraints: list[int] | None) -> tuple[Any, int]:
        kind = LEARNERS[self.learner]
        rows = np.random.default_rng(self.random_state).permutation(len(target))[: kind.max_rows]
        rows.sort()
        # The bytes must not depend on how many threads there are; a kernel parameter at its bound is a flat direction, not a fault.
        with one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return kind.build(self.random_state, constraints).fit(features[rows], target[rows]), len(rows)

    def _leave_out(self, features: FloatArray, target: FloatArray, keys: Any, constraints: list[int] | None) -> ErrorSummary | None:
        self.folds_: list[Any] = []
        self.smearing_ = 1.0
        if self.n_folds < 2 or len(pd.unique(keys)) < 2:
            return None
        folds = grouped_folds(keys, self.n_folds, self.random_state)

        def answer(fold: Fold) -> FloatArray:
            self.folds_.append(self._train(features[fold.train], target[fold.train], constraints)[0])
            return np.asarray(self.folds_[-1].predict(features[fold.test]))

        median, self.fold_of_ = over_folds(folds, len(target), answer), fold_numbers(folds, len(target))
        self.left_out_ = target - median
        if self.smearing:
            self.smearing_ = float(np.mean(np.exp(self.left_out_)))
        return relative_errors(self._within(np.exp(median)), np.exp(target))

    def _falls(self, features: FloatArray, names: Sequence[str]) -> float:
        """Share of steps upwards in a monotone column, others held at rows of the training table, on which the time falls."""
        falls = []
        rows = features[:: max(1, len(features) // GRID_ROWS)]
        for column in (i for i, name in enumerate(names) if name in self.monotone):
            values = np.linspace(features[:, column].min(), features[:, column].max(), GRID_STEPS)
            grid = np.repeat(rows, GRID_STEPS, axis=0)
            grid[:, column] = np.tile(values, len(rows))
            steps = np.diff(self.learner_.predict(grid).reshape(len(rows), GRID_STEPS), axis=1)
            falls.append(float((steps < -1e-9).mean()))
        return max(falls, default=0.0)

    def _features(self, X: Any) -> tuple[pd.DataFrame, FloatArray]:
        check_is_fitted(self, "learner_")
        frame = query_frame(self, X, terms=self.terms)
        return frame, self.axes_.apply(finite_columns(self.terms_, frame).matrix)

    def _within(self, times: FloatArray) -> FloatArray:
        low, high = self.time_range_
        return np.asarray(np.clip(self.smearing_ * times, LOWEST * low, HIGHEST * high))

    def predict(self, X: Any) -> FloatArray:
        """Times of the rows of X, shape (n_rows,), in the unit of y, within [min / 4, 4 max] of the training times."""
        features = self._features(X)[1]
        return self._within(np.exp(self.learner_.predict(features)))

    def in_domain(self, X: Any) -> BoolArray:
        """Whether the columns lie inside the measured domain and the prediction needed no clipping, shape (n_rows,)."""
        frame, features = self._features(X)
        times = self.smearing_ * np.exp(self.learner_.predict(features))
        low, high = self.time_range_
        return np.asarray(self.domain_.contains(frame) & (times >= LOWEST * low) & (times <= HIGHEST * high))

    def predict_interval(self, X: Any, kind: str = "run", level: float = 0.95) -> Interval:
        """CV+ interval of a run on the log scale; a learner has no separate interval of the mean.

        Where the left-out rows are too few for it, Student's t with their error about the learner's own prediction.

        Raises
        ------
        FitError
            Fitted with ``n_folds`` below 2.
        """
        check_kind(kind, level)
        features = self._features(X)[1]
        folds = self._fold_predictions(features)
        if np.ceil((len(self.left_out_) + 1) * level) > len(self.left_out_):
            centre = np.asarray(self.learner_.predict(features))
            logs = conformal_interval(centre, ResidualQuantiles.of(self.left_out_), "log", level)
            return Interval(np.exp(logs.lower), np.exp(logs.upper), level)
        parts = [
            cv_plus_interval(folds[:, start : start + BATCH_ROWS], self.fold_of_, self.left_out_, level, relative=False)
            for start in range(0, folds.shape[1], BATCH_ROWS)
        ]
        lower, upper = (np.exp(np.concatenate([getattr(part, side) for part in parts])) for side in ("lower", "upper"))
        return Interval(lower, upper, level)

    def _fold_predictions(self, features: FloatArray) -> FloatArray:
        if not self.folds_:
            raise FitError("no left-out errors are known", hint="Fit with n_folds >= 2 to get intervals.")
        return np.array([fold.predict(features) for fold in self.folds_])

    def sample(self, X: Any, rng: np.random.Generator, size: int, kind: str = "run") -> FloatArray:
        """Draws of the times, shape (size, n_rows): a fold's model with a residual that it left out."""
        check_kind(kind, 0.5)
        folds = self._fold_predictions(self._features(X)[1])
        chosen: IntArray = rng.integers(0, len(self.left_out_), (size, folds.shape[1]))
        return np.asarray(np.exp(folds[self.fold_of_[chosen], np.arange(folds.shape[1])] + self.left_out_[chosen]))

    def importance(self, X: Any, y: ArrayLike, n_repeats: int = 5) -> pd.Series:
        """Permutation importance: rise of the mean |log ratio| when a column of X is shuffled, largest first."""
        frame = query_frame(self, X, terms=self.terms)
        measured, rng = np.asarray(y, dtype=float), np.random.default_rng(self.random_state)
        start = relative_errors(self.predict(X), measured).log_ratio
        names = [str(name) for name in frame]
        rise = {name: [] for name in names}  # type: dict[str, list[float]]
        for name in names:
            for _ in range(n_repeats):
                shuffled = frame.assign(**{name: frame[name].to_numpy()[rng.permutation(len(frame))]})
                inputs = shuffled if hasattr(self, "feature_names_in_") else shuffled.to_numpy()
                rise[name].append(relative_errors(self.predict(inputs), measured).log_ratio - start)
        return pd.Series({name: float(np.mean(values)) for name, values in rise.items()}, name="importance").sort_values(
            ascending=False
        )
