"""A model of any CSV: one target column, candidate terms, groups that are left out together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError, UsageError
from mlperf.core.json_fields import Fields
from mlperf.core.provenance import provenance
from mlperf.core.shown import Shown, plain
from mlperf.datasets.joining.join import KEY, Joined, JoinedTable, Keys, Table, join_tables
from mlperf.models import StepwiseOLS
from mlperf.models.storage.store import envelope, model_from_dict, model_to_dict
from mlperf.models.validation.folds import configuration_groups
from mlperf.models.validation.scores import noise_floor
from mlperf.training.fits.left_out import LeftOutError, left_out_error, left_out_from_dict
from mlperf.training.fits.ratio_model import Scaled, TotalKeeping

FOLDS = 10
# With more candidates backward steps and a thousand bootstrap selections take minutes.
WIDE = 40
LEAST_VALUES, DIGITS = 2, 12


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
    joined : tuple of JoinedTable
        Feature tables that were joined to the measurements, and the columns of each.
    provenance : mapping
        Data SHA-256, versions, host, command.
    """

    target: str
    fitted: Scaled
    errors: LeftOutError | None
    noise_floor: float
    groups: str | None
    provenance: Mapping[str, Any]
    joined: tuple[JoinedTable, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that a row to predict must have: those that the candidate terms read."""
        return tuple(str(name) for name in self.fitted.estimator.feature_names_in_)

    def check_columns(self, rows: pd.DataFrame, place: str) -> None:
        """Accept rows only if they have every column that the model reads.

        Raises
        ------
        DataError
            Names all that are missing, and the feature tables that brought them to the training.
        """
        missing = [name for name in self.columns if name not in rows.columns]
        if not missing:
            return
        sources = {name: table.table for table in self.joined for name in table.columns}
        tables = dict.fromkeys(sources[name] for name in missing if name in sources)
        raise DataError(
            f"is missing {', '.join(missing)}: expected the {len(self.columns)} columns that the model reads",
            place=f"{place}, column {missing[0]}",
            hint=f"The model was trained on columns of {', '.join(tables)}: join tables of the same kind that describe these rows "
            "(--join, --on)."
            if tables
            else "Add the columns; a column that an old table has and a new one has not may be 0 throughout.",
        )

    def ordered(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The columns that the model reads, in the order of the training, whatever that of ``rows``."""
        return rows[list(self.columns)]

    def predict(self, rows: pd.DataFrame) -> FloatArray:
        """The target of each row, shape (n_rows,), in the table's unit."""
        return self.fitted.predict(self.ordered(rows))

    def in_domain(self, rows: pd.DataFrame) -> BoolArray:
        """Whether each row lies inside the measured domain."""
        return self.fitted.in_domain(self.ordered(rows))

    def to_dict(self) -> dict[str, Any]:
        """The document that `mlperf.save_model` writes."""
        return {
            **envelope("table"),
            "target": self.target,
            "total_scale": self.fitted.total_scale,
            "model": model_to_dict(self.fitted.estimator),
            "errors": plain(self.errors),
            "noise_floor": plain(self.noise_floor),
            "groups": self.groups,
            "joined": plain(self.joined),
            "provenance": plain(self.provenance),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> TableModel:
        """The model again from a document without its envelope; raises DataError with the JSON path of what is wrong."""
        with Fields(document, path) as fields:
            return cls(
                target=fields.text("target"),
                fitted=Scaled(model_from_dict(fields.raw("model"), "$.model"), fields.number("total_scale")),
                errors=left_out_from_dict(fields.raw("errors"), "$.errors"),
                noise_floor=fields.number("noise_floor", finite=False),
                groups=None if fields.absent("groups") else fields.text("groups"),
                provenance=dict(fields.raw("provenance")),
                joined=_joined_from_fields(fields),
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
    join: Sequence[Table] = (),
    on: Keys | Sequence[Keys] = KEY,
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
        column but ``target`` and ``groups``; with ``join`` every column of the feature tables that is neither constant nor
        a multiple of an earlier one.
    formula : str, optional
        R's language instead of ``terms``: ``"time_s ~ a * b + poly(c, 2)"``; its left side must be ``target``.
    groups : str, optional
        Column whose equal values are left out together, and whose rows the report takes for correlated. Default: equal rows of
        features are left out together; with ``join`` equal rows of the feature tables, so that all measurements of a kernel stay
        together.
    join, on
        Feature tables and their key columns (see `mlperf.join_tables`).
    noise : str
        ``relative`` (weights 1/y**2, total preserved) or ``absolute``.
    n_folds, seed : int
        Of the left-out error.
    duplicates : str
        ``keep``, ``drop`` or ``error`` for fully identical rows of a file.
    **options
        Further parameters of `mlperf.StepwiseOLS` (``direction``, ``criterion``, ``k``, ``report``, ...). With more than 40
        candidates the search is forward and ``report`` is ``"none"``, unless they are given.

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
    data = _read(table, target, join, on, duplicates)
    frame = data.frame
    for name in [target] + ([groups] if groups else []):
        if name not in frame:
            raise DataError(f"got no column {name!r}, expected one of {', '.join(frame.columns)}", place=str(table))
    times = frame[target].to_numpy(float)
    columns = frame.drop(columns=[target] + ([groups] if groups else []))
    described = columns[[name for name in data.features if name in columns]] if data.tables else columns
    offered = _candidates(described, joined=bool(data.tables)) if terms is None else tuple(terms)
    if len(offered) > WIDE:
        options = {"report": "none", "direction": "forward", **options}
    make = _maker(offered, target, formula, {"noise": noise, **options})
    labels = frame[groups].to_numpy() if groups else configuration_groups(described)
    return TableModel(
        target,
        make().fit(columns, times, labels if groups else None),
        _errors(make, columns, times, labels, n_folds, seed),
        _noise_floor(described, times),
        groups,
        provenance(data_sha256=dict(data.data_sha256), seed=seed),
        data.tables,
    )


def _candidates(columns: pd.DataFrame, *, joined: bool) -> tuple[str, ...]:
    """Columns to offer; of joined tables without those that can add nothing to an earlier one."""
    if not joined:
        return tuple(columns.columns)
    kept: dict[Any, str] = {}
    for name in columns.columns:
        values = columns[name]
        if values.nunique() < LEAST_VALUES:
            continue
        numbers = values.to_numpy(float) if pd.api.types.is_numeric_dtype(values) else None
        shape = tuple(values) if numbers is None else tuple(np.round(numbers / np.abs(numbers).max(), DIGITS))
        kept.setdefault(shape, str(name))
    return tuple(kept.values())


def _maker(terms: tuple[str, ...], target: str, formula: str | None, options: dict[str, Any]) -> Callable[[], TotalKeeping]:
    chosen = terms if formula is None else formula_terms(formula, target)
    return lambda: TotalKeeping(StepwiseOLS(terms=chosen, **options), options["noise"] == "relative")


def formula_terms(formula: str, target: str) -> str:
    """The right side of a formula whose left side is ``target``, as StepwiseOLS's ``terms`` takes it: ``"~ a * b"``."""
    left, tilde, right = formula.partition("~")
    if not tilde or left.strip() not in {"", target}:
        raise UsageError(f"got formula {formula!r}, expected '{target} ~ ...'", hint="Transform the target in the table itself.")
    return f"~{right}"


def _read(table: Table, target: str, join: Sequence[Table], on: Keys | Sequence[Keys], duplicates: str) -> Joined:
    """The rows to fit; without feature tables the table alone."""
    if join:
        return join_tables(table, join, on, target=target, duplicates=duplicates)
    if isinstance(table, pd.DataFrame):
        return Joined(table, (), {})
    from mlperf.datasets import read_any_table
    from mlperf.datasets.campaigns.digest import table_sha256

    return Joined(read_any_table(table, target=target, duplicates=duplicates), (), {Path(table).name: table_sha256(table)})


def _joined_from_fields(fields: Fields) -> tuple[JoinedTable, ...]:
    if "joined" not in fields.names:
        return ()
    found = []
    for number, value in enumerate(fields.items("joined")):
        with Fields(value, f"{fields.path}.joined[{number}]") as item:
            found.append(JoinedTable(item.text("table"), item.texts("on"), item.texts("columns")))
    return tuple(found)


def _errors(
    make: Callable[[], TotalKeeping], columns: pd.DataFrame, times: FloatArray, groups: Any, n_folds: int, seed: int
) -> LeftOutError | None:
    if not np.all(times > 0):
        return None
    return left_out_error(make, columns, times, groups, n_folds=n_folds, seed=seed)


def _noise_floor(columns: pd.DataFrame, times: FloatArray) -> float:
    if not np.all(times > 0):
        return float("nan")
    rows = pd.DataFrame({"same": configuration_groups(columns), "value": times})
    return noise_floor(rows, ["same"], "value").mape
