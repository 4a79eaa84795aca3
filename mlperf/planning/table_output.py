"""Predicted rows as a CSV file, whole or not at all, and what there is to say about them in short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.core.files import writing_whole
from mlperf.core.places import check_not_input
from mlperf.core.shown import Shown
from mlperf.models.validation.scores import ErrorSummary, coverage, relative_errors
from mlperf.planning.table_prediction import RowPredictions

CHUNK = 50_000
"""Rows that are written at once."""


@dataclass(frozen=True, slots=True, eq=False)
class RowsWritten(Shown):
    """Predictions of a table's rows that stand in a file.

    Attributes
    ----------
    path : str
        The file.
    target : str
        Name of the column.
    n_rows, n_predicted, n_in_domain : int
        All rows, those without missing cells, those inside the measured domain.
    errors : ErrorSummary or None
        Where the rows hold the target.
    coverage : float
        Share of the measurements inside the interval of a run; NaN where none is known.
    notes : tuple of str
        Missing cells and labels that the model has not seen, with file and line.
    sums : DataFrame or None
        One row a group, where sums were asked for.
    """

    path: str
    target: str
    n_rows: int
    n_predicted: int
    n_in_domain: int
    errors: ErrorSummary | None
    coverage: float
    notes: tuple[str, ...]
    sums: pd.DataFrame | None


def write_frame(frame: pd.DataFrame, path: Path | str, inputs: Sequence[Path | str] = ()) -> None:
    """Write a table as CSV, whole or not at all, gzipped where its name ends in ``.gz``; refuse to write over one of the inputs."""
    check_not_input(Path(path), inputs)
    with writing_whole(Path(path)) as stream:
        for start in range(0, max(len(frame), 1), CHUNK):
            frame.iloc[start : start + CHUNK].to_csv(stream, index=False, header=start == 0, lineterminator="\n")


def write_rows(found: RowPredictions, path: Path | str, inputs: Sequence[Path | str] = ()) -> RowsWritten:
    """Write the rows with their predictions as CSV (see `RowPredictions.to_frame`), numbers with all their digits.

    Parameters
    ----------
    found : RowPredictions
    path : path
        Replaced where it exists, but never by half a file; gzipped where its name ends in ``.gz``.
    inputs : sequence of path
        Files that must not be written over.

    Raises
    ------
    UsageError
        ``path`` is one of the inputs.
    """
    frame = whole_numbers(found.to_frame())
    write_frame(frame, path, inputs)
    errors, share = error_summary(found)
    predicted = int(np.isfinite(found.predicted).sum())
    inside = int(found.in_domain.sum())
    return RowsWritten(str(path), found.target, len(frame), predicted, inside, errors, share, found.notes, found.sums)


def whole_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Counts that became fractions because a cell is missing, as counts again."""
    counts = [
        name for name in frame if frame[name].dtype == float and frame[name].isna().any() and (frame[name].dropna() % 1 == 0).all()
    ]
    return frame.astype(dict.fromkeys(counts, "Int64")) if counts else frame


def error_summary(found: RowPredictions) -> tuple[ErrorSummary | None, float]:
    """Errors of the rows whose target is known, and the share of them inside their interval."""
    error = found.relative_error
    known = np.zeros(len(found.predicted), bool) if error is None else np.isfinite(error)
    if not known.any():
        return None, float("nan")
    measured = pd.to_numeric(found.rows.loc[known, found.target], errors="coerce").to_numpy(float)
    run = found.prediction_interval
    return relative_errors(found.predicted[known], measured), coverage(run.lower[known], run.upper[known], measured)
