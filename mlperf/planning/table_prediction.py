"""Predict the rows of any table with a model that was trained on one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DomainError, UsageError
from mlperf.core.shown import Shown
from mlperf.datasets.joining.join import KEY, Keys, Table, join_tables
from mlperf.datasets.reading.any_table import read_any_table
from mlperf.models.uncertainty.intervals import Interval
from mlperf.training.table.table_model import TableModel


@dataclass(frozen=True, slots=True, eq=False)
class RowPredictions(Shown):
    """Predictions of a table's rows; every array has shape (n_rows,), in the unit of the target.

    ``target`` names the column; ``confidence_interval`` is of the mean, ``prediction_interval`` of a run.
    """

    target: str
    rows: pd.DataFrame
    predicted: FloatArray
    confidence_interval: Interval
    prediction_interval: Interval
    in_domain: BoolArray

    def to_frame(self) -> pd.DataFrame:
        """The rows with the prediction, both intervals and the flag."""
        return self.rows.assign(
            **{
                f"predicted_{self.target}": self.predicted,
                "mean_lower": self.confidence_interval.lower,
                "mean_upper": self.confidence_interval.upper,
                "run_lower": self.prediction_interval.lower,
                "run_upper": self.prediction_interval.upper,
                "in_domain": self.in_domain,
            }
        )


def predict_rows(
    model: TableModel,
    rows: pd.DataFrame | str | Path,
    *,
    join: Sequence[Table] = (),
    on: Keys | Sequence[Keys] = KEY,
    level: float = 0.95,
    strict: bool = False,
) -> RowPredictions:
    """Predict the target of each row.

    Parameters
    ----------
    model : TableModel
        From ``mlperf.train(table, target=...)``.
    rows : DataFrame, str or Path
        A frame or CSV file with the columns of the model's terms.
    join, on
        Feature tables that hold the columns that ``rows`` lacks, and their key columns (see `mlperf.join_tables`).
    level : float
        Of the intervals.
    strict : bool
        Refuse rows outside the measured domain.

    Raises
    ------
    UsageError
        ``model`` is one of a campaign.
    DataError
        A column is missing (all that are missing are named), a key has no partner, or a cell is wrong.
    DomainError
        ``strict`` and a row lies outside; names the first.
    """
    if not isinstance(model, TableModel):
        raise UsageError(
            "got the model of a campaign, expected one trained on a table", hint="Predict a CNN with --cnn, --machine and --job."
        )
    frame = join_tables(rows, join, on, duplicates="keep").frame if join else _read(rows)
    model.check_columns(frame, "rows" if isinstance(rows, pd.DataFrame) else f"{rows}, line 1")
    inside = np.asarray(model.in_domain(frame), bool)
    if strict and not inside.all():
        row = int(np.argmin(inside))
        place = None if isinstance(rows, pd.DataFrame) else str(rows)
        raise DomainError(f"row {row} lies outside the measured domain", place=place)
    return RowPredictions(
        model.target,
        frame,
        model.predict(frame),
        model.predict_interval(frame, "mean", level),
        model.predict_interval(frame, "run", level),
        inside,
    )


def _read(rows: Table) -> pd.DataFrame:
    return rows if isinstance(rows, pd.DataFrame) else read_any_table(rows, duplicates="keep")
