"""A model of any CSV: one target column, candidate terms, groups that are left out together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError, UsageError
from mlperf.core.provenance import provenance
from mlperf.core.shown import Shown, plain
from mlperf.models import StepwiseOLS
from mlperf.models.fields import Fields
from mlperf.models.store import FORMAT, VERSION, model_from_dict, model_to_dict
from mlperf.models.validation.crossval import configuration_groups, noise_floor
from mlperf.systems.left_out import LeftOutError, left_out_error, left_out_from_dict
from mlperf.systems.scaled import Scaled

TABLE = "table"
FOLDS = 10


@dataclass(frozen=True, slots=True, eq=False)
class TableModel(Shown):
    """What `mlperf.train` returns for a table.

    Attributes
    ----------
    target : str
        The column that is predicted, in the table's own unit.
    fitted : Scaled
        The estimator and the factor that preserves the total of the target.
    errors : LeftOutError or None
        Of left-out groups, selection repeated inside each fold; None with fewer than three groups.
    noise_floor : float
        Odd against even repeats of equal rows, a fraction; NaN without repeats.
    groups : str or None
        Column whose equal values stayed in one fold; None: equal rows of features did.
    provenance : mapping
        Data SHA-256, versions, host, command.
    """

    target: str
    fitted: Scaled
    errors: LeftOutError | None
    noise_floor: float
    groups: str | None
    provenance: Mapping[str, Any]

    def predict(self, rows: pd.DataFrame) -> FloatArray:
        """The target of each row, shape (n_rows,), in the table's unit."""
        return self.fitted.predict(rows)

    def in_domain(self, rows: pd.DataFrame) -> BoolArray:
        """Whether each row lies inside the measured domain."""
        return self.fitted.in_domain(rows)

    def to_dict(self) -> dict[str, Any]:
        """The document that `mlperf.save_model` writes."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": TABLE,
            "target": self.target,
            "total_scale": self.fitted.total_scale,
            "model": model_to_dict(self.fitted.estimator),
            "errors": plain(self.errors),
            "noise_floor": plain(self.noise_floor),
            "groups": self.groups,
            "provenance": plain(self.provenance),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> TableModel:
        """The model again; raises DataError with the JSON path of what is wrong."""
        with Fields(document, "$") as fields:
            fields.text("format", (FORMAT,))
            fields.integer("version", lower=VERSION, upper=VERSION)
            fields.text("kind", (TABLE,))
            return cls(
                target=fields.text("target"),
                fitted=Scaled(model_from_dict(fields.raw("model"), "$.model"), fields.number("total_scale")),
                errors=left_out_from_dict(fields.raw("errors"), "$.errors"),
                noise_floor=fields.number("noise_floor", finite=False),
                groups=None if fields.absent("groups") else fields.text("groups"),
                provenance=dict(fields.raw("provenance")),
            )

    def to_frame(self) -> pd.DataFrame:
        """The coefficient table."""
        frame: pd.DataFrame = self.fitted.estimator.report_.coefficients
        return frame


def train_table(
    table: pd.DataFrame | str | Path,
    target: str,
    *,
    terms: Sequence[str] | None = None,
    formula: str | None = None,
    groups: str | None = None,
    noise: str = "relative",
    n_folds: int = FOLDS,
    seed: int = 0,
    duplicates: str = "error",
    **options: Any,
) -> TableModel:
    """Fit one column of any table by OLS with AIC stepwise selection.

    Parameters
    ----------
    table : DataFrame, str or Path
        A frame or a CSV file.
    target : str
        Column to predict; > 0 under ``relative`` noise.
    terms : sequence of str, optional
        One arithmetic expression over columns each (``"m*n*k"``, ``"log2(n)"``); a bare text column is a factor. Default: every
        column but ``target`` and ``groups``.
    formula : str, optional
        R's language instead of ``terms``: ``"time_s ~ a * b + poly(c, 2)"``; its left side must be ``target``.
    groups : str, optional
        Column whose equal values are left out together.
    noise : str
        ``relative`` (weights 1/y**2, total preserved) or ``absolute``.
    n_folds, seed : int
        Of the left-out error.
    duplicates : str
        ``keep``, ``drop`` or ``error`` for fully identical rows of a file.
    **options
        Further parameters of `mlperf.StepwiseOLS` (``direction``, ``criterion``, ``k``, ...).

    Raises
    ------
    DataError
        The file is wrong, or a column is missing.
    UsageError
        Both ``terms`` and ``formula``.
    FitError
        Nothing can be fitted.
    """
    if terms is not None and formula is not None:
        raise UsageError("got both terms and a formula, expected one of them")
    frame, digest = _frame(table, target, duplicates)
    for name in [target] + ([groups] if groups else []):
        if name not in frame:
            raise DataError(f"got no column {name!r}, expected one of {', '.join(frame.columns)}", place=str(table))
    times = frame[target].to_numpy(float)
    columns = frame.drop(columns=[target] + ([groups] if groups else []))
    make = _maker(columns, target, terms, formula, {"noise": noise, **options})
    estimator = make().fit(columns, times)
    scale = float(times.sum() / estimator.predict(columns).sum()) if noise == "relative" else 1.0
    labels = frame[groups].to_numpy() if groups else configuration_groups(columns)
    return TableModel(
        target,
        Scaled(estimator, scale),
        _errors(make, columns, times, labels, n_folds, seed, keep_totals=noise == "relative"),
        _noise_floor(columns, times),
        groups,
        provenance(data_sha256=digest, seed=seed),
    )


def _maker(columns: pd.DataFrame, target: str, terms: Sequence[str] | None, formula: str | None, options: dict[str, Any]) -> Any:
    if formula is not None:
        options = {"terms": formula_terms(formula, target), **options}
    else:
        options = {"terms": tuple(columns.columns) if terms is None else tuple(terms), **options}
    return lambda: StepwiseOLS(**options)


def formula_terms(formula: str, target: str) -> str:
    """The right side of a formula whose left side is ``target``, as StepwiseOLS's ``terms`` takes it: ``"~ a * b"``."""
    left, tilde, right = formula.partition("~")
    if not tilde or left.strip() not in {"", target}:
        raise UsageError(f"got formula {formula!r}, expected '{target} ~ ...'", hint="Transform the target in the table itself.")
    return f"~{right}"


def _frame(table: pd.DataFrame | str | Path, target: str, duplicates: str) -> tuple[pd.DataFrame, dict[str, str]]:
    if isinstance(table, pd.DataFrame):
        return table, {}
    from mlperf.datasets import read_any_table
    from mlperf.datasets.digest import table_sha256

    return read_any_table(table, target=target, duplicates=duplicates), {Path(table).name: table_sha256(table)}


def _errors(
    make: Any, columns: pd.DataFrame, times: FloatArray, groups: Any, n_folds: int, seed: int, *, keep_totals: bool
) -> LeftOutError | None:
    if not np.all(times > 0):
        return None
    return left_out_error(make, columns, times, groups, keep_totals=keep_totals, n_folds=n_folds, seed=seed)


def _noise_floor(columns: pd.DataFrame, times: FloatArray) -> float:
    same = configuration_groups(columns)
    if not np.all(times > 0) or len(np.unique(same)) == len(same):
        return float("nan")
    return noise_floor(pd.DataFrame({"same": same, "value": times}), ["same"], "value").mape
