"""A table's model beside measured rows: errors, coverage of the intervals, by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError
from mlperf.core.shown import Shown
from mlperf.core.suggest import nearest
from mlperf.datasets.joining.join import KEY, Keys, Table
from mlperf.datasets.reading.cell_units import unit_advice
from mlperf.models.validation.scores import ErrorSummary, coverage, relative_errors
from mlperf.planning.table_prediction import predict_rows
from mlperf.training.table.table_model import TableModel


@dataclass(frozen=True, slots=True, eq=False)
class TableComparison(Shown):
    """Predicted beside measured rows of a table.

    Attributes
    ----------
    target : str
        Name of the column.
    parts : DataFrame
        All rows, those inside and those outside the measured domain: ``rows, n, mape, median, q3, max, bias, kendall_tau,
        coverage`` (share inside the interval of a run), errors as fractions.
    by_group : DataFrame
        The same of each group, the worst first; empty where no column was named.
    table : DataFrame
        The compared rows as `mlperf.planning.table_prediction.RowPredictions.to_frame` gives them, with ``inside``: whether the
        interval of a run holds the measurement.
    errors : ErrorSummary
        Of all rows.
    notes : tuple of str
        Rows that could not be compared, with file and line.
    """

    target: str
    parts: pd.DataFrame
    by_group: pd.DataFrame
    table: pd.DataFrame
    errors: ErrorSummary
    notes: tuple[str, ...]

    @property
    def mape(self) -> float:
        """Mean relative error of all rows, a fraction."""
        return self.errors.mape

    def to_frame(self) -> pd.DataFrame:
        """The table, one row a comparison."""
        return self.table


def compare_rows(
    model: TableModel,
    rows: Table,
    *,
    by: str | None = None,
    join: Sequence[Table] = (),
    on: Keys | Sequence[Keys] = KEY,
    level: float = 0.95,
) -> TableComparison:
    """Set predictions beside measured rows.

    Parameters
    ----------
    model : TableModel
        From ``mlperf.train(table, target=...)``.
    rows : DataFrame, str or Path
        A frame or file with the columns of the model's terms and the target.
    by : str, optional
        Column whose equal values are judged together, too; by default that of the training's groups, where the rows have it.
    join, on
        As for `mlperf.planning.table_prediction.predict_rows`.
    level : float
        Of the intervals.

    Raises
    ------
    DataError
        As `predict_rows`, and where no row has a target > 0 and a prediction.
    """
    named = by
    found = predict_rows(model, rows, join=join, on=on, level=level, by=named)
    if named is None and model.groups is not None and model.groups in found.rows:
        named = model.groups
    place = "rows" if isinstance(rows, pd.DataFrame) else str(rows)
    error = found.relative_error
    if error is None:
        near = nearest(model.target, [str(name) for name in found.rows if name not in model.columns])
        told = "" if near is None else f"If {near!r} holds them, bring it to that unit and rename it."
        asked = "".join(f"{part} " for part in (told, unit_advice(near or "", model.target)) if part)
        raise DataError(
            f"has no column {model.target!r}, expected measurements to compare with",
            place=place,
            hint=f"{asked}Measured values stand under the name, and in the unit, of the column that the model was trained on.",
        )
    known = np.isfinite(error)
    if not known.any():
        raise DataError(f"got no row with a prediction and {model.target} > 0, expected at least one", place=place)
    run = found.prediction_interval
    measured = pd.to_numeric(found.rows[model.target], errors="coerce").to_numpy(float)
    table = found.to_frame().assign(inside=(run.lower <= measured) & (measured <= run.upper))[known].reset_index(drop=True)
    skipped = int((~known).sum())
    notes = (
        *found.notes,
        *((f"{skipped:,} of {len(known):,} rows have no prediction or no {model.target} > 0",) if skipped else ()),
    )
    return TableComparison(model.target, _parts(model, table), _groups(model, table, named), table, _errors(model, table), notes)


def _errors(model: TableModel, table: pd.DataFrame) -> ErrorSummary:
    return relative_errors(table[f"predicted_{model.target}"], table[model.target])


def _summary(model: TableModel, table: pd.DataFrame) -> dict[str, float]:
    errors = _errors(model, table)
    lower, upper = (table[f"run_{end}_{model.target}"].to_numpy(float) for end in ("lower", "upper"))
    figures = {name: getattr(errors, name) for name in ("n", "mape", "median", "q3", "max", "bias", "kendall_tau")}
    return figures | {"coverage": coverage(lower, upper, table[model.target].to_numpy(float))}


def _parts(model: TableModel, table: pd.DataFrame) -> pd.DataFrame:
    inside = table["in_domain"].to_numpy(bool)
    parts = {"all": np.ones(len(table), bool), "in domain": inside, "outside": ~inside}
    return pd.DataFrame([{"rows": name, **_summary(model, table[rows])} for name, rows in parts.items() if rows.any()])


def _groups(model: TableModel, table: pd.DataFrame, by: str | None) -> pd.DataFrame:
    if by is None:
        return pd.DataFrame()
    groups = table.groupby(by, sort=True, dropna=False)
    found = pd.DataFrame([{by: name, **_summary(model, rows)} for name, rows in groups])
    return found.sort_values("mape", ascending=False, kind="stable").reset_index(drop=True)
