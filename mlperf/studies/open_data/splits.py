"""How rows are split on every task; each split is fixed by its name."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

from mlperf.core.errors import DataError
from mlperf.models.validation.folds import Fold

TRAIN_SHARE = 0.7


def seventy_thirty(n_rows: int, n_test: int | None = None) -> list[Fold]:
    """First 70 % of ``numpy.random.RandomState(0).permutation`` train, the rest (its first ``n_test``) test."""
    order = np.random.RandomState(0).permutation(n_rows)
    cut = int(TRAIN_SHARE * n_rows)
    return [Fold("30 %", order[:cut], order[cut:][:n_test])]


def first_rows(n_rows: int, n_train: int, n_test: int) -> list[Fold]:
    """The first ``n_train`` rows train, the next ``n_test`` test."""
    if n_rows < n_train + n_test:
        raise DataError(f"got {n_rows} rows, expected at least {n_train + n_test}")
    return [Fold(f"rows {n_train + 1} to {n_train + n_test}", np.arange(n_train), np.arange(n_train, n_train + n_test))]


def shuffled_folds(n_rows: int, n_folds: int = 10) -> list[Fold]:
    """scikit-learn's ``KFold(n_folds, shuffle=True, random_state=0)``."""
    parts = KFold(n_folds, shuffle=True, random_state=0).split(np.empty((n_rows, 1)))
    return [Fold(f"fold {number}", train, test) for number, (train, test) in enumerate(parts)]


def device_rows(frame: pd.DataFrame, device: str, configuration: list[str] | None = None) -> pd.DataFrame:
    """Rows of the one device of that name or with ``device`` in its name; the first row of each configuration where one is named.

    Raises
    ------
    DataError
        No device, or several, of that name.
    """
    names = [str(name) for name in pd.unique(frame["device"])]
    found = [device] if device in names else [name for name in names if device in name]
    if len(found) != 1:
        raise DataError(f"got {len(found)} devices called {device!r}, expected one of {', '.join(names)}", place="column device")
    rows = frame[frame["device"] == found[0]]
    if configuration is not None:
        rows = rows.drop_duplicates(subset=configuration)
    return rows.reset_index(drop=True)
