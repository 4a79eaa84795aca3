"""From any table to the best model that its rows allow."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import PATH, DataError, UsageError, check_type, fold_count
from mlperf.core.provenance import provenance
from mlperf.core.suggest import nearest_hint
from mlperf.core.threads import one_thread
from mlperf.datasets.joining.join import KEY, Keys, Table, join_tables
from mlperf.models.validation.folds import Fold, configuration_groups, grouped_folds, leave_largest_out, leave_one_group_out
from mlperf.models.validation.left_out import LeftOutRows
from mlperf.training.fits.left_out import LEAST_GROUPS, LeftOutError
from mlperf.training.table.choice import SHARES_BEYOND, Choice, choose_method, compared_rows, left_out_material
from mlperf.training.table.columns import (
    BESIDE,
    UNITS,
    SetAside,
    check_magnitudes,
    columns_beside,
    explaining_columns,
    telling_columns,
)
from mlperf.training.table.disguise import named_in_terms, near_notes
from mlperf.training.table.label_errors import left_out_labels
from mlperf.training.table.methods import AUTO, METHODS
from mlperf.training.table.reach import Reach
from mlperf.training.table.rows import LEAST_ROWS, check_names, check_target, error_in_terms, nothing_to_fit, read_rows
from mlperf.training.table.screening import screened_terms
from mlperf.training.table.table_fit import TableFit, numbers_of
from mlperf.training.table.table_model import SIGNED, TableModel, grouped_errors, profile_of
from mlperf.training.table.table_regressor import TableRegressor, formula_terms, read_columns

FOLDS, FOLDS_OF_MANY, MANY_ROWS = 10, 5, 500
"""Folds of the comparison; fewer of a table of more rows, where they differ less."""
MOST_LEFT_OUT = 1000
MOST_FOLDS = 1000
TOTALS = ("free", "keep")
SCALE_BOUNDS = (0.8, 1.25)


@dataclass(frozen=True, slots=True, eq=False)
class TableQuestion:
    """What is asked of a table.

    ``frame`` (n_rows, n_columns) are the columns that may explain, ``times`` (n_rows,) the column called ``target``, ``keys``
    (n_rows,) what is left out together, ``groups`` those keys where the user named them; ``terms`` and ``options`` as
    `TableRegressor` takes them.
    """

    target: str
    frame: pd.DataFrame
    times: FloatArray
    keys: Any
    groups: Any
    terms: Any
    options: Mapping[str, Any]
    seed: int
    screened: dict[bytes, tuple[str, ...]] = field(default_factory=dict)

    @property
    def is_positive(self) -> bool:
        """Whether every value is > 0, so that errors can be told in percent."""
        return bool((self.times > 0.0).all())

    @property
    def is_relative(self) -> bool:
        """Whether errors in percent are what the fit makes small."""
        return bool(self.options["noise"] == "relative")

    def regressor(self, method: str, **options: Any) -> TableRegressor:
        """The unfitted regressor of a method; ``options`` of the least-squares fit besides those asked for."""
        return TableRegressor(method, self.terms, {"report": "none", **self.options, **options}, self.seed, screen=self.screen)

    def screen(self, frame: pd.DataFrame, times: FloatArray, *, seed: int) -> tuple[str, ...]:
        """The terms of `screened_terms`, found once for all methods that are fitted to the same rows."""
        rows = hashlib.sha256(times.tobytes()).digest()
        if rows not in self.screened:
            self.screened[rows] = screened_terms(frame, times, seed=seed)
        return self.screened[rows]

    def fitted(self, method: str, **options: Any) -> TableRegressor:
        """That regressor, fitted to all rows."""
        named = pd.Series(self.times, name=self.target)
        return self.regressor(method, **options).fit(self.frame, named, self.groups)


# Of blocks as small as these, more threads spin longer than they work.
@one_thread()
def train_table(
    table: pd.DataFrame | str | Path,
    target: str,
    *,
    method: str = AUTO,
    terms: Sequence[str] | str | None = None,
    formula: str | None = None,
    groups: str | None = None,
    join: Sequence[Table] = (),
    on: Keys | Sequence[Keys] = KEY,
    noise: str = "relative",
    totals: str = TOTALS[0],
    n_folds: int | None = None,
    seed: int = 0,
    duplicates: str = "error",
    na: str = "error",
    categorical: Sequence[str] = (),
    **options: Any,
) -> TableModel:
    """Fit one column of any table with the method that suits its rows.

    Weighted least squares on terms chosen by AIC are always fitted and reported; what predicts is chosen on left-out groups.

    Parameters
    ----------
    table : DataFrame, str or Path
        A frame or a CSV file.
    target : str
        Column to predict; > 0 under ``relative`` noise.
    method : str
        ``auto``, or one of `mlperf.training.table.methods.METHODS`.
    terms : sequence of str or str, optional
        One arithmetic expression over columns each (``"m*n*k"``, ``"log2(n)"``); a bare text column is a factor. Default: products,
        ratios and logarithms of the columns that matter, found in the rows.
    formula : str, optional
        R's language instead of ``terms``: ``"time_s ~ a * b + poly(c, 2)"``; its left side must be ``target``. Fitted by least
        squares.
    groups : str, optional
        Column whose equal values are left out together, and whose rows the report takes for correlated. Default: equal rows of
        features are left out together.
    join, on
        Feature tables and their key columns (see `mlperf.join_tables`).
    noise : str
        ``relative`` (errors count in percent, weights 1/y**2) or ``absolute`` (plain least squares, the target may be <= 0).
    totals : str
        ``keep`` multiplies predictions by one factor between 0.8 and 1.25 where that makes left-out totals truer; ``free`` never.
    n_folds, seed : int
        Of the comparison on left-out groups: 10 folds by default, 5 of more than 500 rows; 0 folds leave out each group by itself.
    duplicates : str
        ``keep``, ``drop`` or ``error`` for fully identical rows of a file.
    na : str
        ``drop`` leaves out rows with a missing cell in a column that is used; ``error`` refuses them.
    categorical : sequence of str
        Columns that hold labels even where these look like numbers.
    **options
        Further parameters of `mlperf.StepwiseOLS` for the least-squares fit (``direction``, ``criterion``, ``k``, ``report``, ...).

    Raises
    ------
    DataError
        The file is wrong, or a column is missing.
    UsageError
        Both ``terms`` and ``formula``, or no such method.
    FitError
        Nothing can be fitted.
    """
    check_type(table, (*PATH, pd.DataFrame), "table", "a DataFrame or a CSV file")
    check_type(target, str, "target", "the name of a column")
    if terms is not None and formula is not None:
        raise UsageError("got both terms and a formula, expected one of them")
    if method not in (AUTO, *METHODS):
        raise UsageError(f"got method {method!r}, expected one of auto, {', '.join(METHODS)}", hint=nearest_hint(method, METHODS))
    if totals not in TOTALS:
        raise UsageError(f"got totals {totals!r}, expected one of {', '.join(TOTALS)}")
    if join and (na != "error" or categorical):
        raise UsageError(
            "got na or categorical with joined tables, expected them of one table alone",
            hint="Put the measurements in order first: rows without missing cells, labels that are no numbers.",
        )
    place = "table" if isinstance(table, pd.DataFrame) else str(table)
    wanted: Any = formula_terms(formula, target) if formula is not None else (terms,) if isinstance(terms, str) else terms
    categorical = (categorical,) if isinstance(categorical, str) else tuple(categorical)
    read = () if wanted is None else read_columns(wanted)
    used = list(dict.fromkeys([*read, *([groups] if groups else []), *categorical]))
    cells: dict[str, Any] = {"duplicates": duplicates, "na": na, "categorical": categorical, "positive": noise == "relative"}
    cells["offers"] = wanted is None
    data = join_tables(table, join, on, target=target, duplicates=duplicates) if join else read_rows(table, target, used, **cells)
    check_names(data.frame, [target, *used], place)
    if method == AUTO:
        # A part of a run may cost the same everywhere; who names its method and terms knows.
        check_target(data.frame, target, place)
    described = data.frame[[*data.features, target]] if data.tables else data.frame
    offered, aside = explaining_columns(described, target, groups)
    frame = data.frame[list(read) if formula is not None else list(dict.fromkeys([*read, *offered]))]
    if frame.shape[1] == 0 or len(frame) < LEAST_ROWS:
        raise nothing_to_fit(frame, aside, place)
    check_magnitudes(frame.assign(**{target: data.frame[target]}), target, place)
    times = data.frame[target].to_numpy(float)
    labels = data.frame[groups].to_numpy() if groups else configuration_groups(frame)
    asked = TableQuestion(
        target, frame, times, labels, labels if groups else None, wanted, {"noise": noise, "report": "auto", **options}, seed
    )
    try:
        parts = _fitted(asked, method if formula is None else "ols", n_folds, totals)
    except DataError as error:
        raise error_in_terms(error, wanted, frame, place) from error
    beside = columns_beside(data.frame, target, data.tables, used)
    telling = (*telling_columns(described, target, list(dict.fromkeys([*read, *offered])), groups), *beside)
    suspects = [*named_in_terms(data.frame, target, read), *near_notes(data.frame, target, () if read else offered)]
    left = tuple(item for item in aside if item.name not in (*read, *data.frame.attrs.get("gaps", ())))
    unread = tuple(f"column {item.name}: {UNITS}" for item in left)
    reading = [note for note in data.frame.attrs.get("notes", ()) if not any(words in note for words in unread)]
    parts["notes"] = (*suspects, *reading, *parts["notes"])
    return TableModel(
        target=target,
        **parts,
        noise_floor=repeats_error(data.frame[list(telling)], times) if asked.is_positive else float("nan"),
        groups=groups,
        profile=profile_of(frame[list(parts["fitted"].columns)]),
        set_aside=(*left, *(SetAside(name, BESIDE) for name in beside if wanted is None)),
        provenance=provenance(data_sha256=dict(data.data_sha256), seed=seed),
        joined=data.tables,
    )


def _fitted(asked: TableQuestion, method: str, n_folds: int | None, totals: str) -> dict[str, Any]:
    """Everything of a `TableModel` that the rows decide."""
    explained = asked.fitted("ols", report=asked.options["report"])
    notes = [*explained.levels_.notes()]
    if asked.terms is None and asked.is_positive:
        notes.append(
            "the terms were found in the same rows, so their tests flatter; left-out errors do not: each fold finds its own"
        )
    if not asked.is_positive or len(pd.unique(pd.Series(asked.keys))) < LEAST_GROUPS:
        reason = "too few groups to leave any out" if asked.is_positive else SIGNED
        other = "" if method in (AUTO, "ols") else f", so that {method} is not used"
        return _parts(
            TableFit(explained, None, explained, None, None, None), "ols", f"Least squares: {reason}{other}.", None, asked, notes
        )
    wanted = (FOLDS if len(asked.times) <= MANY_ROWS else FOLDS_OF_MANY) if n_folds is None else fold_count(n_folds)
    methods = (method,) if method != AUTO else tuple(METHODS) if asked.is_relative else ("ols",)
    choice = choose_method(
        asked.frame,
        asked.times,
        asked.keys,
        asked.regressor,
        methods,
        lambda keys: _folds(keys, wanted, asked.seed),
        asked.seed,
        stated=asked.terms is not None,
    )
    fit = _chosen_fit(asked, choice, explained, totals)
    notes += sampling_notes(choice, fit.chosen, len(asked.times))
    if fit.total_scale != 1.0:
        notes.append(
            f"predictions are multiplied by {fit.total_scale:.4g}, which makes totals of left-out rows truer; the left-out error "
            "of the first line is told with such a factor, that of every method without"
        )
    told = choice if fit.total_scale == 1.0 else with_kept_totals(choice)
    return _parts(fit, choice.chosen, _reason(choice, method), told, asked, notes)


def _chosen_fit(asked: TableQuestion, choice: Choice, explained: TableRegressor, totals: str) -> TableFit:
    """The chosen methods fitted to all rows; intervals from left-out rows where errors are relative, else the fit's own."""
    chosen = explained if choice.chosen == "ols" else asked.fitted(choice.chosen)
    beyond = None if choice.beyond == choice.chosen else explained if choice.beyond == "ols" else asked.fitted(choice.beyond)
    scale = total_scale(choice.rows) if totals == "keep" else 1.0
    if not asked.is_relative:
        return TableFit(chosen, beyond, explained, None, None, None, scale)
    near, difficulty, far = left_out_material(choice, numbers_of(asked.frame[list(chosen.columns_)]), chosen)
    answers = chosen if beyond is None else beyond
    # Found in all rows: what a label adds is asked here, not which terms there are.
    alike = replace(asked, terms=answers.terms_)
    labels = left_out_labels(lambda: alike.regressor(answers.method), asked.frame, asked.times, asked.seed)
    return TableFit(chosen, beyond, explained, near, difficulty, far, scale, labels, _reach(asked, choice, chosen, answers))


def _reach(asked: TableQuestion, choice: Choice, *fits: TableRegressor) -> Reach | None:
    """How far beyond the others the largest rows lay on which methods were compared; None where they were not."""
    if choice.residuals_beyond is None:
        return None
    rows = compared_rows(asked.keys, asked.seed)
    read = list(dict.fromkeys(name for fit in fits for name in fit.columns_))
    folds = [leave_largest_out(asked.times[rows], share)[0] for share in SHARES_BEYOND]
    return Reach.of(asked.frame[read].iloc[rows], asked.times[rows], folds)


def _parts(
    fit: TableFit, method: str, reason: str, choice: Choice | None, asked: TableQuestion, notes: Sequence[str]
) -> dict[str, Any]:
    rows = pd.DataFrame() if choice is None else _left_out_rows(choice, asked)
    return {
        "fitted": fit,
        "method": method,
        "reason": reason,
        "methods": pd.DataFrame() if choice is None else choice.table,
        "errors": None if choice is None else LeftOutError(choice.rows.errors, float(1.0 - choice.rows.in_domain.mean())),
        "left_out": rows.sample(min(len(rows), MOST_LEFT_OUT), random_state=asked.seed).sort_index().reset_index(drop=True),
        "by_group": grouped_errors(rows) if asked.groups is not None else pd.DataFrame(),
        "notes": tuple(notes),
    }


def _left_out_rows(choice: Choice, asked: TableQuestion) -> pd.DataFrame:
    rows = choice.rows
    keys = np.asarray(asked.keys)[choice.used].astype(str)
    return pd.DataFrame({"group": keys, "measured": rows.measured, "predicted": rows.predicted})[rows.tested]


def _reason(choice: Choice, method: str) -> str:
    """Which method predicts, what it gains on left-out rows, and what it costs in explanation."""
    table = {str(row["method"]): row for row in choice.table.to_dict(orient="records")}
    if method != AUTO:
        return f"{choice.chosen} was asked for."
    if len(table) == 1:
        return "Least squares: no other method is compared where absolute errors are made small (--noise absolute)."
    told = f"{choice.chosen} predicts: {_nested_error(choice, float(table[choice.chosen]['mape']))}"
    if choice.chosen == "ols":
        return f"{told}; no method that explains less errs clearly less."
    least = table.get("ols", {})
    if np.isfinite(least.get("mape", np.nan)):
        fault = f", which predicts {least['nonpositive']:.1%} of them at or below zero" if least["nonpositive"] > 0.0 else ""
        told += f", by {least['mape']:.1%} with least squares (ols){fault}"
    return f"{told}. The terms and tests below are those of ols, which explains; --method ols makes it predict, too."


def _nested_error(choice: Choice, own: float) -> str:
    """The error of the first line, and where that of the method's row in the table differs, why."""
    nested = choice.rows.errors.mape
    told = f"left-out rows are missed by {nested:.1%}"
    if f"{nested:.1%}" == f"{own:.1%}":
        return told
    if len(choice.used) != choice.n_compared:
        return f"{told}, those that the methods were compared on by {own:.1%}"
    return (
        f"{told} where each fold chooses its method without them, by {own:.1%} with {choice.chosen} in every fold (as in the table)"
    )


def sampling_notes(choice: Choice, chosen: TableRegressor, n_rows: int) -> list[str]:
    """Where not all rows were looked at."""
    notes = []
    if choice.n_compared < n_rows:
        notes.append(f"methods were compared on {choice.n_compared:,} of {n_rows:,} rows, in random whole groups")
        notes.append(
            f"the error of {choice.chosen} is that of {len(choice.used):,} rows, each left out of one of the fits to the others"
        )
    if chosen.n_used_ < n_rows:
        notes.append(f"{chosen.method} looks at {chosen.n_used_:,} of {n_rows:,} rows, drawn at random")
    return notes


def total_scale(rows: LeftOutRows) -> float:
    """Measured over predicted total of left-out rows, between 0.8 and 1.25; 1 where it makes the folds' totals no truer."""
    measured, predicted = _fold_totals(rows)
    truer = np.abs(_factors_of_others(rows) * predicted / measured - 1.0).mean() < np.abs(predicted / measured - 1.0).mean()
    return float(np.clip(measured.sum() / predicted.sum(), *SCALE_BOUNDS)) if truer else 1.0


def with_kept_totals(choice: Choice) -> Choice:
    """The left-out rows as a model predicts them whose totals are kept: those of a fold times the factor of the others."""
    rows = choice.rows
    own = np.where(rows.tested, _factors_of_others(rows)[np.maximum(rows.fold, 0)], 1.0)
    return replace(choice, rows=replace(rows, predicted=rows.predicted * own))


def _fold_totals(rows: LeftOutRows) -> FloatArray:
    """Measured and predicted total of each fold, shape (2, n_folds)."""
    folds = range(len(rows.fold_names))
    return np.array([[float(each[rows.fold == fold].sum()) for fold in folds] for each in (rows.measured, rows.predicted)])


def _factors_of_others(rows: LeftOutRows) -> FloatArray:
    """The factor of each fold as the others have it, shape (n_folds,)."""
    measured, predicted = _fold_totals(rows)
    return np.asarray(np.clip((measured.sum() - measured) / (predicted.sum() - predicted), *SCALE_BOUNDS))


def _folds(keys: Any, n_folds: int, seed: int) -> list[Fold]:
    n_groups = len(pd.unique(pd.Series(np.asarray(keys))))
    if n_folds > 0:
        return grouped_folds(keys, min(n_folds, n_groups), seed)
    if n_groups > MOST_FOLDS:
        raise UsageError(
            f"got 0 folds, which leaves out each of {n_groups:,} groups by itself, expected at most {MOST_FOLDS:,}",
            hint="Name a column of fewer groups (--groups), or a number of folds (--folds 10).",
        )
    return leave_one_group_out(keys)


def repeats_error(columns: pd.DataFrame, times: FloatArray) -> float:
    """What the true model would miss single runs by on average, a fraction; NaN without repeats.

    From the pooled scatter s of log times of equal rows, shape (n_rows,): the mean of |error| of a normal one is s sqrt(2 / pi).
    """
    logs = pd.Series(np.log(times))
    groups = logs.groupby(configuration_groups(columns))
    free = len(logs) - groups.ngroups
    if free == 0:
        return float("nan")
    scatter = logs.to_numpy(float) - groups.transform("mean").to_numpy(float)
    return float(np.sqrt(float(scatter @ scatter) / free * 2.0 / np.pi))
