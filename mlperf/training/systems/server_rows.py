"""Workers, servers and groups of the rows of a table of speeds."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.core.suggest import nearest
from mlperf.datasets.reading.notes import refuse_cells
from mlperf.training.systems.step_columns import where


def numbers_in(table: pd.DataFrame, name: str) -> FloatArray:
    """A column as numbers.

    Raises
    ------
    DataError
        A cell is none; names its line or row.
    """
    values = pd.to_numeric(table[name], errors="coerce").to_numpy(dtype=float)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        if np.isnan(values[row]):
            refuse_cells(table, name, "a number")
        got = "an empty cell" if pd.isna(table[name].iloc[row]) else repr(table[name].tolist()[row])
        raise DataError(f"got {got}, expected a number", place=f"{where(table, row)}, column {name}")
    return np.asarray(values)


def worker_counts(table: pd.DataFrame) -> FloatArray:
    """Workers of every row, from ``n_workers`` or ``n_nodes`` x ``n_gpus_per_node``; DataError where they are neither."""
    if "n_workers" in table:
        counts = numbers_in(table, "n_workers")
    elif {"n_nodes", "n_gpus_per_node"} <= set(table.columns):
        counts = numbers_in(table, "n_nodes") * numbers_in(table, "n_gpus_per_node")
    else:
        meant = nearest("n_workers", map(str, table))
        hint = None if meant is None else f"Call {meant!r} n_workers where it counts all workers of the run."
        raise DataError(f"got columns {', '.join(map(str, table))}, expected n_workers, or n_nodes and n_gpus_per_node", hint=hint)
    _check_counts(counts, table, "n_workers")
    return counts


def server_counts(table: pd.DataFrame) -> FloatArray:
    """Servers of every row; 1 where the table has no column ``n_servers``."""
    counts = numbers_in(table, "n_servers") if "n_servers" in table else np.ones(len(table))
    _check_counts(counts, table, "n_servers")
    return counts


def _check_counts(counts: FloatArray, table: pd.DataFrame, name: str) -> None:
    wrong = ~((counts >= 1.0) & (counts == np.floor(counts)) & np.isfinite(counts))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise DataError(f"got {float(counts[row]):g}, expected 1, 2, 3, ...", place=f"{where(table, row)}, column {name}")


def group_keys(table: pd.DataFrame, columns: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Labels of every row."""
    missing = [name for name in columns if name not in table]
    if missing:
        raise DataError(f"got columns {', '.join(map(str, table))}, expected {missing[0]!r} among them", place="configurations")
    values = [[str(value) for value in table[name]] for name in columns]
    return list(zip(*values, strict=True)) if columns else [()] * len(table)
