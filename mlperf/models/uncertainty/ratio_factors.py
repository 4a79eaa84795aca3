"""Factors that bring a predictor's times to measured ones: one for all rows, or one a group, shrunk to the common one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown
from mlperf.models.uncertainty.shrinkage import shrunken_samples

UNCHANGED, COMMON = -1, 0
"""Depths that need no groups: factor 1, and one factor for all rows."""
MOST_LEFT_ONE_OUT = 60
N_FOLDS = 20
"""Parts of more rows than are left out one by one."""
MOST_AT_ONCE = 10**6
"""Numbers of the samples that are fitted together."""

Labels = np.ndarray[tuple[int, int], np.dtype[np.object_]]
Split = tuple[IntArray, IntArray]
"""Rows left out together, shape (n_folds, size), and the rows that stay for each, shape (n_folds, n_rows - size)."""


@dataclass(frozen=True, slots=True, eq=False)
class RatioFactors(Shown):
    """Fitted factors, on the logarithmic scale.

    Attributes
    ----------
    depth : int
        -1: nothing is changed; 0: one factor; d > 0: groups by the first d columns, each shrunk to its group by one column less.
    common : float
        Logarithm of the factor of all rows.
    shifts : tuple of mappings
        For 1, 2, ... columns: labels to what the group adds to the logarithm.
    """

    depth: int
    common: float
    shifts: tuple[Mapping[tuple[str, ...], float], ...] = ()

    def log_factor(self, labels: Labels) -> FloatArray:
        """Logarithm of each row's factor, shape (n_rows,); what is not known of a group is that of the group above it."""
        found = np.full(len(labels), self.common)
        for width, shifts in enumerate(self.shifts, start=1):
            found += [shifts.get(tuple(row[:width]), 0.0) for row in labels]
        return found

    def known_depth(self, labels: Labels) -> IntArray:
        """How many of a row's groups, from the coarsest on, were calibrated, shape (n_rows,)."""
        known = np.zeros(len(labels), dtype=np.int64)
        for at, shifts in enumerate(self.shifts):
            known += (known == at) & np.array([tuple(row[: at + 1]) in shifts for row in labels], bool)
        return known

    def knows(self, labels: Labels) -> BoolArray:
        """Whether every group of a row was calibrated, shape (n_rows,)."""
        return np.asarray(self.known_depth(labels) == len(self.shifts))

    def to_dict(self) -> dict[str, Any]:
        """The factors as JSON types."""
        groups = [[{"labels": list(labels), "shift": shift} for labels, shift in known.items()] for known in self.shifts]
        return {"depth": self.depth, "common": self.common, "groups": groups}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> RatioFactors:
        """The factors that `to_dict` wrote; DataError with the JSON path otherwise."""
        with Fields(document, path) as fields:
            depth, common = fields.integer("depth", lower=UNCHANGED), fields.number("common")
            levels = fields.items("groups")
        if len(levels) != max(depth, 0):
            raise DataError(f"got {len(levels)} levels of groups, expected {max(depth, 0)}", place=f"{path}.groups")
        return cls(depth, common, tuple(_shifts(level, f"{path}.groups[{at}]", at + 1) for at, level in enumerate(levels)))


def _shifts(level: Any, path: str, width: int) -> dict[tuple[str, ...], float]:
    found = {}
    for at, group in enumerate(Fields({"level": level}, path).items("level")):
        with Fields(group, f"{path}[{at}]") as fields:
            found[fields.texts("labels", width)] = fields.number("shift")
    return found


def fit_factors(log_ratio: FloatArray, labels: Labels, depth: int) -> RatioFactors:
    """Fit the factors of one depth.

    Parameters
    ----------
    log_ratio : array, shape (n_rows,)
        log(measured / predicted).
    labels : array of str, shape (n_rows, n_columns)
        Groups, the coarsest column first.
    depth : int
        See `RatioFactors`.

    Returns
    -------
    RatioFactors
        The common factor is the median ratio, which one wrong row does not move.
    """
    groups = group_columns(labels)
    if depth == UNCHANGED:
        return RatioFactors(depth, 0.0)
    common, shifts = _fitted(log_ratio[None], groups.numbers[None], groups.n_groups, depth)
    found = tuple(dict(zip(names, map(float, shift[0]), strict=True)) for names, shift in zip(groups.names, shifts, strict=False))
    return RatioFactors(depth, float(common[0]), found)


@dataclass(frozen=True, slots=True, eq=False)
class GroupColumns:
    """Groups by one column, by two, ..., as numbers.

    Attributes
    ----------
    numbers : array of int, shape (n_rows, n_columns)
        Each row's group by so many columns.
    names : tuple of lists of tuples of str
        Labels of each group.
    """

    numbers: IntArray
    names: tuple[list[tuple[str, ...]], ...]

    @property
    def n_groups(self) -> tuple[int, ...]:
        """Groups by one column, by two, ..."""
        return tuple(map(len, self.names))


def group_columns(labels: Labels) -> GroupColumns:
    """Number the groups of every depth."""
    found = [group_numbers(labels[:, : width + 1]) for width in range(labels.shape[1])]
    numbers = np.stack([group_of for _, group_of in found], axis=1) if found else np.empty((len(labels), 0), np.int64)
    return GroupColumns(numbers, tuple(names for names, _ in found))


def group_numbers(labels: Labels) -> tuple[list[tuple[str, ...]], IntArray]:
    """Distinct rows of labels in order of appearance, and the number of each row's, shape (n_rows,)."""
    number: dict[tuple[str, ...], int] = {}
    group_of = np.array([number.setdefault(tuple(row), len(number)) for row in labels], dtype=np.int64)
    return list(number), group_of


def _fitted(log_ratio: FloatArray, numbers: IntArray, n_groups: Sequence[int], depth: int) -> tuple[FloatArray, list[FloatArray]]:
    """The common logarithm of each of several samples, and the shifts of the groups of each depth; 0 for groups without rows.

    Shapes: (n_samples, n_rows) and (n_samples, n_rows, n_columns) give (n_samples,) and, for each depth, (n_samples, n_groups).
    """
    common = medians(log_ratio)
    rest, shifts = log_ratio - common[:, None], []
    for at in range(depth):
        group_of = numbers[:, :, at]
        shifts.append(shrunken_samples(rest, group_of, n_groups[at]).shift)
        rest = rest - np.take_along_axis(shifts[-1], group_of, axis=1)
    return common, shifts


def medians(values: FloatArray) -> FloatArray:
    """Along the last axis those of NumPy to the last bit, five times as fast for a few finite values."""
    ordered, n_values = np.sort(values, axis=-1), values.shape[-1]
    half = n_values // 2
    return np.asarray(ordered[..., half] if n_values % 2 else (ordered[..., half - 1] + ordered[..., half]) / 2.0)


def row_folds(n_rows: int) -> list[IntArray]:
    """Rows that are left out together: one by one, or of many every twentieth."""
    n_folds = n_rows if n_rows <= MOST_LEFT_ONE_OUT else N_FOLDS
    return [np.arange(start, n_rows, n_folds) for start in range(n_folds)]


def left_out_residuals(log_ratio: FloatArray, groups: GroupColumns, depth: int, folds: Sequence[IntArray]) -> FloatArray:
    """log(measured / calibrated prediction) of each row by factors that have not seen its fold, shape (n_rows,)."""
    residuals: FloatArray = left_out_by_depth(log_ratio, groups, depth, folds)[depth - UNCHANGED]
    return residuals


def left_out_by_depth(log_ratio: FloatArray, groups: GroupColumns, deepest: int, folds: Sequence[IntArray]) -> FloatArray:
    """`left_out_residuals` of every depth from -1 on, shape (deepest + 2, n_rows): a depth has the factors of the one before it."""
    return _by_depth(log_ratio, groups, deepest, splits(folds, len(log_ratio)))


def _by_depth(log_ratio: FloatArray, groups: GroupColumns, deepest: int, parts: Iterable[Split]) -> FloatArray:
    found = np.empty((deepest - UNCHANGED + 1, len(log_ratio)))
    found[0] = log_ratio
    if deepest == UNCHANGED:
        return found
    for tests, train in parts:
        common, shifts = _fitted(log_ratio[train], groups.numbers[train], groups.n_groups, deepest)
        rest, shift = log_ratio[tests] - common[:, None], np.zeros(tests.shape)
        found[1, tests] = rest
        for at, each in enumerate(shifts):
            shift = shift + np.take_along_axis(each, groups.numbers[tests, at], axis=1)
            found[at + 2, tests] = rest - shift
    return found


def equal_folds(folds: Sequence[IntArray], n_rows: int) -> Iterator[IntArray]:
    """Folds of one size, shape (n_folds, size), so many at once as memory holds the rest of the rows for."""
    at_once = max(1, MOST_AT_ONCE // n_rows)
    for size in sorted({len(fold) for fold in folds}):
        alike = [fold for fold in folds if len(fold) == size]
        yield from (np.array(alike[start : start + at_once]) for start in range(0, len(alike), at_once))


def splits(folds: Sequence[IntArray], n_rows: int) -> Iterator[Split]:
    """Folds of one size, see `equal_folds`, and for each of them the other rows."""
    for tests in equal_folds(folds, n_rows):
        kept = np.ones((len(tests), n_rows), bool)
        np.put_along_axis(kept, tests, values=False, axis=1)
        yield tests, np.nonzero(kept)[1].reshape(len(tests), -1)


@lru_cache(maxsize=4)
def _few_row_splits(n_rows: int) -> tuple[Split, ...]:
    """`splits` of `row_folds` of so few rows that they are left out one by one: asked for again for every row that is left out."""
    return tuple(splits(row_folds(n_rows), n_rows))


def mean_error(residuals: FloatArray) -> float:
    """Mean of |prediction / measured - 1|, of log(measured / prediction)."""
    return float(np.mean(np.abs(np.expm1(-residuals))))


def best_depth(log_ratio: FloatArray, groups: GroupColumns) -> int:
    """The depth with the smallest mean left-out error; of equal ones the smallest, -1 where there is nothing to leave out."""
    n_rows = len(log_ratio)
    if n_rows < 2:
        return UNCHANGED
    parts = _few_row_splits(n_rows) if n_rows <= MOST_LEFT_ONE_OUT else splits(row_folds(n_rows), n_rows)
    by_depth = _by_depth(log_ratio, groups, len(groups.names), parts)
    return UNCHANGED + int(np.argmin([mean_error(residuals) for residuals in by_depth]))


def chosen_left_out(log_ratio: FloatArray, groups: GroupColumns) -> FloatArray:
    """Left-out residuals of each row where the depth, too, is chosen without its fold, shape (n_rows,)."""
    found, by_depth = np.empty(len(log_ratio)), defaultdict(list)
    for test in row_folds(len(log_ratio)):
        train = np.delete(np.arange(len(log_ratio)), test)
        by_depth[best_depth(log_ratio[train], GroupColumns(groups.numbers[train], groups.names))].append(test)
    for depth, folds in by_depth.items():
        tests = np.concatenate(folds)
        found[tests] = left_out_residuals(log_ratio, groups, depth, folds)[tests]
    return found


def group_folds(groups: GroupColumns, width: int) -> list[IntArray]:
    """Rows of each group by the first ``width`` columns."""
    return [np.flatnonzero(groups.numbers[:, width - 1] == number) for number in range(groups.n_groups[width - 1])]
