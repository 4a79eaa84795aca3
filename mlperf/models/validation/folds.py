"""Splits into training and test rows that keep groups together, and the guard against leaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from mlperf.core.arrays import IntArray
from mlperf.core.errors import DataError, FitError
from mlperf.core.shown import Shown


@dataclass(frozen=True, slots=True, eq=False)
class Fold(Shown):
    """Row numbers of one split: ``train`` and ``test``, and the ``name`` of what was left out."""

    name: str
    train: IntArray
    test: IntArray


def grouped_folds(groups: ArrayLike, n_folds: int = 5, seed: int = 0) -> list[Fold]:
    """Split rows so that no group is on both sides, folds of about equal size.

    Groups are put in random order, then each goes to the fold with the fewest rows so far.

    Parameters
    ----------
    groups : array-like, shape (n_rows,)
        Equal values stay together: repeats of a configuration, a CNN, a machine.
    n_folds : int
        At most the number of groups.
    seed : int
        Of the random order.

    Raises
    ------
    FitError
        Fewer than two groups.
    """
    codes, _ = _group_codes(groups)
    counts = np.bincount(codes)
    n_groups = len(counts)
    folds_used = _n_folds_for(n_groups, n_folds)
    order = np.random.default_rng(seed).permutation(n_groups)
    order = order[np.argsort(-counts[order], kind="stable")]
    fold_of, sizes = np.empty(n_groups, dtype=np.int64), np.zeros(folds_used, dtype=np.int64)
    for group in order:
        fold_of[group] = sizes.argmin()
        sizes[fold_of[group]] += counts[group]
    row_fold = fold_of[codes]
    return [
        Fold(f"fold {number}", np.flatnonzero(row_fold != number), np.flatnonzero(row_fold == number))
        for number in range(folds_used)
    ]


def leave_one_group_out(groups: ArrayLike) -> list[Fold]:
    """One fold per group, in sorted order, named after it.

    Raises
    ------
    FitError
        Fewer than two groups.
    """
    codes, names = _group_codes(groups)
    _n_folds_for(len(names), 2)
    return [Fold(str(name), np.flatnonzero(codes != number), np.flatnonzero(codes == number)) for number, name in enumerate(names)]


def leave_largest_out(size: ArrayLike, share: float = 0.2) -> list[Fold]:
    """One fold that tests extrapolation: rows above the (1 - share) quantile of ``size`` are left out."""
    values = np.asarray(size, dtype=float)
    edge = np.quantile(values, 1.0 - share)
    if not np.any(values > edge):
        raise FitError(f"got no row above the {1.0 - share:.0%} quantile, expected sizes that differ")
    return [Fold(f"above {edge:g}", np.flatnonzero(values <= edge), np.flatnonzero(values > edge))]


def group_labels(groups: ArrayLike, n_rows: int) -> NDArray[Any]:
    """The group of every row as it was named, shape (n_rows,).

    Raises
    ------
    DataError
        Another number of values than rows, or a missing one; names the row.
    """
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise DataError(f"got groups of shape {labels.shape}, expected one for each of the {n_rows} rows")
    missing = pd.isna(labels)
    if missing.any():
        raise DataError("got no value, expected the row's group", place=f"groups, row {int(np.argmax(missing)) + 1}")
    return labels


def _group_codes(groups: ArrayLike) -> tuple[IntArray, NDArray[Any]]:
    labels = np.asarray(groups)
    codes, names = pd.factorize(group_labels(labels, len(np.atleast_1d(labels))), sort=True)
    return codes.astype(np.int64), np.asarray(names)


def _n_folds_for(n_groups: int, n_folds: int) -> int:
    if n_groups < 2:
        raise FitError(
            f"got {n_groups} group, expected at least 2", hint="Left-out error needs a group to leave out and one to learn from."
        )
    return max(2, min(n_folds, n_groups))


def check_folds(folds: Sequence[Fold], X: Any, groups: ArrayLike | None = None, *, equal_rows: bool = False) -> None:
    """Refuse splits that leak: a group, or an identical row of features, on both sides.

    With ``equal_rows`` only groups count: identical rows of different groups may lie on both sides.

    Raises
    ------
    DataError
        Names the fold, and the group or the two rows.
    """
    if groups is None or not equal_rows:
        row_keys = pd.util.hash_pandas_object(_as_frame(X), index=False).to_numpy()
        for fold in folds:
            _check_rows(fold, row_keys)
    if groups is not None:
        for fold in folds:
            _check_groups(fold, np.asarray(groups))


def _check_groups(fold: Fold, groups: NDArray[Any]) -> None:
    straddling = set(groups[fold.train].tolist()) & set(groups[fold.test].tolist())
    if straddling:
        raise DataError(
            f"got group {min(straddling, key=str)!r} in training and test rows", place=fold.name, hint="Split by whole groups."
        )


def _check_rows(fold: Fold, row_keys: NDArray[Any]) -> None:
    twins = np.isin(row_keys[fold.test], row_keys[fold.train])
    if twins.any():
        test_row = int(fold.test[np.argmax(twins)])
        train_row = int(fold.train[np.argmax(row_keys[fold.train] == row_keys[test_row])])
        raise DataError(
            f"got the same features in training row {train_row + 1} and test row {test_row + 1}",
            place=fold.name,
            hint="These are repeats: give them one group, so that they stay in one fold.",
        )


def _as_frame(X: Any) -> pd.DataFrame:
    return X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))


def take_rows(X: Any, rows: IntArray) -> Any:
    """Rows of a frame or of an array, by number."""
    return X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]


def configuration_groups(X: Any) -> IntArray:
    """One group per distinct row of features, shape (n_rows,): repeats of a configuration share it."""
    keys = pd.util.hash_pandas_object(_as_frame(X), index=False)
    return pd.factorize(keys)[0].astype(np.int64)
