"""Equal rows: repeats of one measurement, which belong together, and copies of one row, which somebody must decide about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import IntArray
from mlperf.core.errors import UsageError
from mlperf.datasets.reading.parquet import Cells

DUPLICATES = ("error", "keep", "drop")
COPY_HINT = (
    "A measurement is never the same to the last digit: the file was joined twice. Say duplicates='drop' or 'keep' (--duplicates)."
)


def repeat_groups(frame: pd.DataFrame, key: Sequence[str]) -> IntArray:
    """Number of the group of each row; rows equal in the ``key`` columns are repeats and share a group.

    Parameters
    ----------
    frame : DataFrame, n_rows rows
        A table.
    key : sequence of str
        Columns that identify a measurement (``TableSchema.key``), or those by which folds are made.

    Returns
    -------
    array, shape (n_rows,)
        Numbers from 0, in the order of first appearance.
    """
    return np.asarray(frame.groupby(list(key), sort=False, observed=True).ngroup(), dtype=np.int64)


def settle_copies(frame: pd.DataFrame, grid: Cells, duplicates: str) -> pd.DataFrame:
    """Apply the policy for rows that equal another one in every column.

    Parameters
    ----------
    frame : DataFrame
        Rows of ``grid``, or some of them, in the same order; the index counts the file's rows.
    grid : Grid or ParquetRows
        The file, for the place of an error.
    duplicates : str
        ``"error"``, ``"keep"``, or ``"drop"`` (the first one stays).

    Raises
    ------
    DataError
        With ``"error"``: names the first copy and the line it copies.
    UsageError
        An unknown policy.
    """
    if duplicates not in DUPLICATES:
        raise UsageError(f"got duplicates={duplicates!r}, expected one of {', '.join(DUPLICATES)}")
    if duplicates == "keep" or not (copies := copied_rows(frame)).any():
        return frame
    if duplicates == "drop":
        return frame[~copies]
    row = int(np.argmax(copies))
    original = int(np.argmax((frame.iloc[: row + 1] == frame.iloc[row]).all(axis=1)))
    column = str(frame.columns[0])
    where = grid.where([int(frame.index[original])])
    raise grid.error(int(frame.index[row]), column, f"a row that differs from {where}: all cells are equal", COPY_HINT)


def distinct_rows(frame: pd.DataFrame, grid: Cells, duplicates: str) -> pd.DataFrame:
    """Rows that stay under a policy for copies, which are equal in every cell of the file, not only in the columns of ``frame``.

    Parameters
    ----------
    frame : DataFrame
        Typed rows of ``grid``, or some of them; the index counts the file's rows.
    grid : Grid or ParquetRows
        The file.
    duplicates : str
        As in `settle_copies`, which see for errors.
    """
    suspects = np.ones(len(frame), dtype=bool)
    # Equal cells are equal numbers, so that the texts of few rows have to be compared, and in most tables of none.
    for name in sorted(map(str, frame), key=lambda name: frame[name].dtype.kind != "f"):
        suspects[suspects] = frame[name][suspects].duplicated(keep=False).to_numpy()
    if duplicates in DUPLICATES and (duplicates == "keep" or not suspects.any()):
        return frame
    texts = pd.DataFrame(grid.texts(grid.header)).loc[frame.index[suspects]]
    dropped = texts.index.difference(settle_copies(texts, grid, duplicates).index)
    return frame.drop(index=dropped)


def copied_rows(frame: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Rows that equal an earlier one in every column."""
    # Floats first: on tables of measured times they tell nearly all rows apart, at a tenth of the cost of the texts.
    floats = frame.select_dtypes("float")
    suspects = floats.duplicated(keep=False).to_numpy() if floats.shape[1] else np.ones(len(frame), dtype=bool)
    copies = np.zeros(len(frame), dtype=bool)
    copies[suspects] = frame[suspects].duplicated().to_numpy()
    return copies
