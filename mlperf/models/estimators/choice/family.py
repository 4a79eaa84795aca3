"""Which member of the family suits a table of times: grouped cross-validation, a simpler member within one standard error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import FitError, MlperfError, UsageError
from mlperf.core.shown import Shown
from mlperf.models.formula.expressions import Name, names, parse, text
from mlperf.models.registry import make_regressor
from mlperf.models.regressor import Regressor, fit_in_groups
from mlperf.models.validation.folds import Fold, configuration_groups, group_labels, grouped_folds
from mlperf.models.validation.left_out import LeftOutRows, left_out
from mlperf.models.validation.scores import LARGEST_RATIO


@dataclass(frozen=True, slots=True)
class Question:
    """What a member is asked to fit.

    ``terms`` for sums of costs, ``log_terms`` for power laws, ``columns`` for distances, ``features`` for learners, ``seed``.
    """

    terms: tuple[str, ...] | None
    log_terms: tuple[str, ...] | None
    columns: tuple[str, ...] | None
    features: tuple[str, ...]
    seed: int


@dataclass(frozen=True, slots=True)
class Member:
    """One row of the table: its name, how it is made, and its ``complexity`` (a smaller one is simpler)."""

    name: str
    complexity: int
    make: Callable[[Question], Regressor]


def _stepwise(noise: str) -> Callable[[Question], Regressor]:
    return lambda question: make_regressor("stepwise_ols", terms=question.terms, noise=noise, report="none")


def _selected(kind: str, **options: Any) -> Callable[[Question], Regressor]:
    return lambda question: make_regressor("selected_terms", make_regressor(kind, question.terms, **options))


def _boosted(question: Question) -> Regressor:
    base = make_regressor("nonnegative", question.terms, n_draws=0, n_folds=0)
    return make_regressor("boosted_residual", base, question.features, random_state=question.seed)


def _learner(kind: str) -> Member:
    return Member(kind, 3, lambda asked: make_regressor("learner", kind, asked.features, n_folds=0, random_state=asked.seed))


MEMBERS: tuple[Member, ...] = (
    #      name                complexity  estimator
    Member("relative", 0, _stepwise("relative")),
    Member("absolute", 0, _stepwise("absolute")),
    Member("log", 1, lambda asked: make_regressor("log", asked.log_terms, n_folds=0)),
    Member("nonnegative", 1, _selected("nonnegative", n_draws=0, n_folds=0)),
    Member("huber", 1, _selected("huber", n_folds=0)),
    Member("quantile", 1, _selected("quantile")),
    Member("ratio", 2, lambda asked: make_regressor("ratio_local", asked.terms, asked.columns, n_folds=0, seed=asked.seed)),
    Member("local", 2, lambda asked: make_regressor("scatter_local", asked.terms, asked.columns, seed=asked.seed)),
    Member("boosted", 3, _boosted),
    *map(_learner, ("ridge", "boosting", "forest", "gaussian_process", "svr")),
)
LINEAR = ("relative", "absolute", "log", "nonnegative", "huber", "quantile")
DEFAULT = (*LINEAR, "ratio", "local", "boosted", "boosting")


@dataclass(frozen=True, slots=True, eq=False)
class FamilyChoice(Shown):
    """Every member's left-out error, which is best, which is taken.

    Attributes
    ----------
    table : DataFrame
        One row a member, in the order asked: ``member``, ``complexity``, ``loss`` (mean |log(predicted / measured)|), ``loss_se``,
        ``behind`` (loss over the best member's) and ``behind_se`` (its standard error over groups), ``mape``, ``median``, ``q3``,
        ``bias``, ``kendall_tau``, ``aic`` (NaN where there is no likelihood; comparable across the rows), ``fit_s`` (CPU seconds of
        all folds), ``chosen``, ``note`` (why a member has no figures).
    best, chosen : str
        Smallest loss; simplest member not further behind than one standard error.
    estimator : estimator
        The chosen member fitted to all rows.
    predictions : mapping of str to array, shape (n_samples,)
        Left-out predictions of each member.
    """

    table: pd.DataFrame
    best: str
    chosen: str
    estimator: Any
    predictions: Mapping[str, FloatArray]

    def to_frame(self) -> pd.DataFrame:
        """The table."""
        return self.table

    def to_dict(self) -> dict[str, Any]:
        """Table and choice as JSON types, without the estimator."""
        from mlperf.core.shown import plain

        return {"table": plain(self.table), "best": self.best, "chosen": self.chosen}


def choose_family(
    X: Any,
    y: ArrayLike,
    groups: ArrayLike | None = None,
    members: Sequence[str] | Mapping[str, Callable[[], Regressor]] = DEFAULT,
    *,
    terms: Sequence[str] | None = None,
    log_terms: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    folds: Sequence[Fold] | None = None,
    n_folds: int = 5,
    seed: int = 0,
) -> FamilyChoice:
    """Compare members on groups that they have not seen, and fit the one to take.

    Selection of terms, neighbours and the like happens inside every fold. The loss is the mean |log(predicted / measured)|, since
    MAPE favours low predictions.

    Parameters
    ----------
    X : DataFrame or array, shape (n_samples, n_columns)
    y : array-like, shape (n_samples,)
        Positive times.
    groups : array-like, shape (n_samples,), optional
        What is left out together; default identical rows of features.
    members : sequence of str, or mapping of str to callable
        Names of `MEMBERS` (simplest first where losses tie), or factories of estimators of your own in order of complexity.
    terms, log_terms, columns : sequences of str, optional
        For sums of costs, for power laws (default the logarithms of the columns that ``terms`` read), and for distances (default
        those columns). Learners see columns and terms.
    folds : sequence of Fold, optional
        Splits to use instead of ``n_folds`` grouped folds.
    n_folds, seed : int
        Of the splits and of learners.

    Raises
    ------
    UsageError
        An unknown member.
    FitError
        Fewer than two groups, or no member could be fitted.
    """
    question = _question(X, terms, log_terms, columns, seed)
    asked = _members(members, question)
    keys = configuration_groups(X) if groups is None else group_labels(groups, np.shape(y)[0])
    splits = list(folds) if folds is not None else grouped_folds(keys, n_folds, seed)
    results, notes = {}, {}
    for name, _, make in asked:
        try:
            results[name] = left_out(make, X, y, keys, splits, domain=False)
        except MlperfError as error:
            notes[name] = str(error)
    if not results:
        raise FitError(f"no member could be fitted: {next(iter(notes.values()))}")
    table = _table(asked, results, notes, keys)
    best = str(table["member"].to_numpy()[int(np.nanargmin(table["loss"]))])
    chosen = _simplest(table)
    estimator = fit_in_groups({name: make for name, _, make in asked}[chosen](), X, np.asarray(y, dtype=float), keys)
    table["aic"] = [_aic(make, X, np.asarray(y, dtype=float)) if name in results else np.nan for name, _, make in asked]
    table["chosen"] = table["member"] == chosen
    return FamilyChoice(table, best, chosen, estimator, {name: result.predicted for name, result in results.items()})


def _question(
    X: Any, terms: Sequence[str] | None, log_terms: Sequence[str] | None, columns: Sequence[str] | None, seed: int
) -> Question:
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X), columns=[f"x{i}" for i in range(np.shape(X)[1])])
    read = {name for term in terms for name in names(parse(term))} if terms is not None else set(map(str, frame))
    used = tuple(str(column) for column in frame if str(column) in read)
    logs = tuple(_logged(frame, name) for name in used) if log_terms is None else tuple(log_terms)
    quoted = tuple(text(Name(name)) for name in (used if columns is None else columns))
    features = tuple(dict.fromkeys([*quoted, *(terms or ())]))
    return Question(None if terms is None else tuple(terms), logs, quoted, features, seed)


def _logged(frame: pd.DataFrame, name: str) -> str:
    column = frame[name]
    positive = (
        pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype) and bool((column > 0).all())
    )
    return f"log({text(Name(name))})" if positive else text(Name(name))


def _members(members: Any, question: Question) -> list[tuple[str, int, Callable[[], Regressor]]]:
    if isinstance(members, Mapping):
        return [(name, place, make) for place, (name, make) in enumerate(members.items())]
    known = {member.name: member for member in MEMBERS}
    unknown = [name for name in members if name not in known]
    if unknown:
        raise UsageError(f"got member {unknown[0]!r}, expected one of {', '.join(known)}")
    return [(name, known[name].complexity, _bound(known[name], question)) for name in members]


def _bound(member: Member, question: Question) -> Callable[[], Regressor]:
    return lambda: member.make(question)


def _table(
    asked: Sequence[tuple[str, int, Any]], results: Mapping[str, LeftOutRows], notes: Mapping[str, str], keys: Any
) -> pd.DataFrame:
    losses = {name: _group_losses(result, keys) for name, result in results.items()}
    errors = {name: result.errors for name, result in results.items()}
    best = min(errors, key=lambda name: errors[name].log_ratio)
    rows = []
    for name, complexity, _ in asked:
        row: dict[str, Any] = {"member": name, "complexity": complexity, "note": notes.get(name, "")}
        if name in results:
            own, loss = errors[name], losses[name]
            row |= {"loss": own.log_ratio, "loss_se": _standard_error(loss)}
            row |= {"behind": own.log_ratio - errors[best].log_ratio, "behind_se": _standard_error(loss - losses[best])}
            row |= {key: getattr(own, key) for key in ("mape", "median", "q3", "bias", "kendall_tau")}
            row |= {"fit_s": results[name].fit_s}
        rows.append(row)
    return pd.DataFrame(rows)


def _group_losses(result: LeftOutRows, keys: Any) -> FloatArray:
    """Mean |log ratio| of each group, weighted by its share of the rows, shape (n_groups,); their mean is the loss."""
    tested = result.tested
    ratio = np.clip(result.predicted[tested] / result.measured[tested], 1.0 / LARGEST_RATIO, LARGEST_RATIO)
    codes = pd.factorize(np.asarray(keys)[tested])[0]
    total = np.bincount(codes, np.abs(np.log(ratio)))
    return np.asarray(total * len(total) / tested.sum())


def _standard_error(values: FloatArray) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _simplest(table: pd.DataFrame) -> str:
    near = table[table["behind"] <= table["behind_se"]]
    return str(near.sort_values(["complexity", "loss"], kind="stable").iloc[0]["member"])


def _aic(make: Callable[[], Any], X: Any, y: FloatArray) -> float:
    """N log(RSS / n) + 2 k on the scale of y: a fit of log y or of relative residuals gets the Jacobian 2 sum(log y).

    k counts coefficients that are not zero. NaN for members without a Gaussian likelihood.
    """
    estimator = make()
    inner = getattr(estimator, "member_", getattr(estimator, "estimator", estimator))
    noise = "log" if getattr(inner, "member", "") == "log" else getattr(inner, "noise", None)
    if noise is None or getattr(inner, "member", "") in ("huber", "quantile", "nonnegative"):
        return float("nan")
    estimator.fit(X, y)
    fitted = np.asarray(estimator.predict(X), dtype=float)
    n_coef = float(np.count_nonzero(estimator.coef_)) + float(getattr(estimator, "intercept_", 0.0) != 0.0)
    if noise == "log":
        residual, jacobian = np.log(y / (fitted / estimator.smearing_)), 2.0 * float(np.log(y).sum())
    elif noise == "relative":
        residual, jacobian = 1.0 - fitted / y, 2.0 * float(np.log(y).sum())
    else:
        residual, jacobian = y - fitted, 0.0
    return float(len(y) * np.log(residual @ residual / len(y)) + 2.0 * n_coef + jacobian)
