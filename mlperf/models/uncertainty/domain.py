"""Where a model may be asked: ranges, levels, leverage and hull of the rows that it was fitted on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray, number_columns
from mlperf.core.errors import DataError, UsageError
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown
from mlperf.models.uncertainty.hull import Hull
from mlperf.models.uncertainty.leverage import Leverage

RANGE_SLACK = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class DomainCheck(Shown):
    """Which rows lie inside the measured domain, and for the others why not; every array has n_rows rows.

    Attributes
    ----------
    in_domain : array of bool, shape (n_rows,)
    distance : array, shape (n_rows,)
        Mahalanobis distance from the training mean in the scaled terms, standard deviations.
    reason : array of str, shape (n_rows,)
        ``""``, ``"range"``, ``"level"``, ``"leverage"`` or ``"hull"``.
    column : array of str, shape (n_rows,)
        Column or term farthest outside its range, or with the unknown level; else ``""``.
    value : array, shape (n_rows,)
        That column's value in the query; NaN where no range is left.
    range : array, shape (n_rows, 2)
        That column's measured range in its own unit; NaN where no range is left.
    """

    in_domain: BoolArray
    distance: FloatArray
    reason: Any
    column: Any
    value: FloatArray
    range: FloatArray

    def to_frame(self) -> pd.DataFrame:
        """One row a query."""
        return pd.DataFrame(
            {
                "in_domain": self.in_domain,
                "distance": self.distance,
                "reason": self.reason,
                "column": self.column,
                "value": self.value,
                "lower": self.range[:, 0],
                "upper": self.range[:, 1],
            }
        )


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """The measured domain of one model.

    Attributes
    ----------
    names : tuple of str
        Numeric columns, then the design's terms if the domain was fitted with a design.
    n_columns : int
        How many of ``names`` are columns of the frame.
    lower, upper : array, shape (len(names),)
        Their ranges over the training rows.
    levels : mapping of str to tuple of str
        Levels seen of each categorical column.
    leverage : Leverage or None
        None where there is no numeric column.
    hull : Hull or None
        None above eight numeric columns.
    """

    names: tuple[str, ...]
    n_columns: int
    lower: FloatArray
    upper: FloatArray
    levels: Mapping[str, tuple[str, ...]]
    leverage: Leverage | None
    hull: Hull | None

    @classmethod
    def fit(cls, X: Any, design: FloatArray | None = None, design_names: tuple[str, ...] = ()) -> Domain:
        """Domain of the training rows.

        Parameters
        ----------
        X : DataFrame, array or mapping of arrays, shape (n_samples, n_columns)
            Input columns; columns that are not numeric count as categorical. Of a mapping there are some, all of them numbers.
        design : array, shape (n_samples, n_terms), optional
            Columns of the model's own matrix, constant included: their ranges and leverage are checked as well (a product
            may leave its range while its factors do not). Default: a constant and the numeric columns.
        design_names : tuple of str, optional
            Names of the design's columns.

        Raises
        ------
        DataError
            Where a numeric column holds NaN or infinities.
        """
        names, numbers, labels = _split(X)
        _check_finite(names, numbers)
        terms = np.empty((len(numbers), 0)) if design is None else np.asarray(design, dtype=np.float64)
        term_names = tuple(design_names) if design_names else tuple(f"term {index}" for index in range(terms.shape[1]))
        both = np.hstack([numbers, terms])
        return cls(
            names + term_names,
            len(names),
            both.min(axis=0) if len(both) else np.zeros(both.shape[1]),
            both.max(axis=0) if len(both) else np.zeros(both.shape[1]),
            {name: tuple(sorted({str(value) for value in pd.unique(column)})) for name, column in labels.items()},
            Leverage.fit(_with_constant(numbers) if design is None else terms),
            Hull.fit(numbers),
        )

    def check(self, X: Any, design: FloatArray | None = None) -> DomainCheck:
        """Compare rows with the measured domain.

        Parameters
        ----------
        X : DataFrame, array or mapping of arrays, shape (n_rows, n_columns)
            At least the columns of the training frame; a mapping for a domain of numbers alone.
        design : array, shape (n_rows, n_terms), optional
            The same rows of the model's matrix, where the domain was fitted with one.

        Raises
        ------
        DataError
            Where a column is missing.
        UsageError
            Where the design is missing or does not belong.
        """
        numbers, terms, labels = self._rows(X, design)
        both = np.hstack([numbers, terms])
        excess = _excess(both, self.lower, self.upper)
        worst = excess.argmax(axis=1) if both.shape[1] else np.zeros(len(both), dtype=np.int64)
        outside = ~(excess <= 0.0).all(axis=1)
        reason = np.where(outside, "range", "").astype(object)
        column = np.where(outside, np.array([*self.names, ""], dtype=object)[worst], "").astype(object)
        limits = np.full((len(both), 2), np.nan)
        limits[outside] = np.column_stack([self.lower, self.upper])[worst[outside]]
        asked = np.full(len(both), np.nan)
        asked[outside] = both[outside, worst[outside]]
        for name, values in labels.items():
            unknown = ~np.isin(values, self.levels[name])
            reason[unknown], column[unknown], asked[unknown], limits[unknown] = "level", name, np.nan, np.nan
        leverage = self._leverage_of(numbers, terms)
        if self.leverage is not None:
            reason[(reason == "") & ~(leverage <= self.leverage.limit)] = "leverage"
        if self.hull is not None:
            inside = np.flatnonzero(reason == "")
            reason[inside[~self.hull.contains(numbers[inside])]] = "hull"
        distance = np.full(len(both), np.nan) if self.leverage is None else self.leverage.distance(leverage)
        return DomainCheck((reason == "").astype(np.bool_), distance, reason, column, asked, limits)

    def contains(self, X: Any, design: FloatArray | None = None) -> BoolArray:
        """Whether each row lies inside the measured domain, shape (n_rows,); see `check`."""
        numbers, terms, labels = self._rows(X, design)
        inside = np.ones(len(numbers), dtype=np.bool_)
        # One column after the other: a search asks about a million rows.
        for values, lower, upper in zip((*numbers.T, *terms.T), self.lower, self.upper, strict=True):
            inside &= _excess(values, lower, upper) <= 0.0
        for name, values in labels.items():
            inside &= np.isin(values, self.levels[name])
        if self.leverage is not None:
            inside &= self._leverage_of(numbers, terms) <= self.leverage.limit
        if self.hull is not None:
            inside[inside] = self.hull.contains(numbers[inside])
        return np.asarray(inside)

    def to_dict(self) -> dict[str, Any]:
        """Ranges, levels, leverage metric and hull corners as JSON types; no training rows but the hull's corners."""
        return {
            "names": list(self.names),
            "n_columns": self.n_columns,
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "levels": {name: list(levels) for name, levels in self.levels.items()},
            "leverage": None if self.leverage is None else self.leverage.to_dict(),
            "hull": None if self.hull is None else self.hull.to_dict(),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> Domain:
        """The domain that `to_dict` wrote; DataError with the JSON path otherwise."""
        with Fields(document, path) as fields:
            names = fields.texts("names")
            levels = fields.child("levels")
            domain = cls(
                names,
                fields.integer("n_columns", upper=len(names)),
                fields.numbers("lower", len(names)),
                fields.numbers("upper", len(names)),
                {name: levels.texts(name) for name in levels.names},
                None if fields.absent("leverage") else Leverage.from_dict(fields.raw("leverage"), f"{path}.leverage"),
                None if fields.absent("hull") else Hull.from_dict(fields.raw("hull"), f"{path}.hull"),
            )
        domain._check_widths(path)
        return domain

    def _check_widths(self, path: str) -> None:
        n_design = len(self.names) - self.n_columns or self.n_columns + 1
        if self.leverage is not None and max(self.leverage.kept, default=0) >= n_design:
            raise DataError(f"got column {max(self.leverage.kept)}, expected less than {n_design}", place=f"{path}.leverage.kept")
        if self.hull is not None and len(self.hull.logarithmic) != self.n_columns:
            raise DataError(f"got {len(self.hull.logarithmic)} values, expected {self.n_columns}", place=f"{path}.hull.logarithmic")

    def _rows(self, X: Any, design: FloatArray | None) -> tuple[FloatArray, FloatArray, dict[str, Any]]:
        """Numbers, terms of the design, and labels by column."""
        numbers, labels = self._select(X)
        n_terms = len(self.names) - self.n_columns
        terms = np.empty((len(numbers), 0)) if design is None else np.asarray(design, dtype=np.float64)
        if terms.shape[1] != n_terms:
            raise UsageError(f"got a design of {terms.shape[1]} columns, expected {n_terms}", place="Domain.check")
        return numbers, terms, labels

    def _leverage_of(self, numbers: FloatArray, terms: FloatArray) -> FloatArray:
        if self.leverage is None:
            return np.zeros(len(numbers))
        return self.leverage.of(terms if terms.shape[1] else _with_constant(numbers))

    def _select(self, X: Any) -> tuple[FloatArray, dict[str, Any]]:
        columns = self.names[: self.n_columns]
        if isinstance(X, Mapping):
            return _side_by_side([X[name] for name in columns]), {}
        if not isinstance(X, pd.DataFrame):
            numbers = np.asarray(X, dtype=np.float64)
            if numbers.ndim != 2 or numbers.shape[1] != len(columns):
                raise DataError(f"got an array of shape {numbers.shape}, expected (n_rows, {len(columns)})", place="Domain.check")
            return numbers, {}
        missing = [name for name in (*columns, *self.levels) if name not in X.columns]
        if missing:
            raise DataError(f"missing, expected the columns {', '.join((*columns, *self.levels))}", place=f"column {missing[0]}")
        labels = {name: X[name].astype(str).to_numpy(dtype=object) for name in self.levels}
        plain = number_columns(X, columns) if X.columns.is_unique else None
        return X[list(columns)].to_numpy(dtype=np.float64) if plain is None else plain, labels


def check_numbers(X: Any) -> None:
    """Refuse what `Domain.fit` refuses, for a domain that is learned later.

    Raises
    ------
    DataError
        Where a numeric column holds NaN or infinities.
    """
    names, numbers, _ = _split(X)
    _check_finite(names, numbers)


def _check_finite(names: Sequence[str], numbers: FloatArray) -> None:
    if not np.isfinite(numbers).all():
        row, column = np.argwhere(~np.isfinite(numbers))[0]
        raise DataError(f"got {numbers[row, column]}, expected a finite number", place=f"row {row + 1}, column {names[column]}")


def _excess(values: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """How far outside its range each value lies, in widths of the range; NaN counts as infinitely far."""
    width = np.where(upper > lower, upper - lower, np.maximum(np.abs(upper), 1.0))
    beyond = np.maximum(lower - values, values - upper) / width - RANGE_SLACK
    return np.where(np.isnan(beyond), np.inf, beyond)


def _split(X: Any) -> tuple[tuple[str, ...], FloatArray, dict[str, Any]]:
    """Names and values of the numeric columns, and the other columns by name."""
    if isinstance(X, Mapping):
        return tuple(X), _side_by_side(list(X.values())), {}
    if not isinstance(X, pd.DataFrame):
        numbers = np.asarray(X, dtype=np.float64)
        if numbers.ndim != 2:
            raise DataError(f"got an array of shape {numbers.shape}, expected two dimensions", place="Domain.fit")
        return tuple(f"x{index}" for index in range(numbers.shape[1])), numbers, {}
    numeric = [name for name, kind in zip(X.columns, X.dtypes, strict=True) if _is_numeric(kind)]
    others = [name for name in X.columns if name not in set(numeric)]
    return tuple(map(str, numeric)), X[numeric].to_numpy(dtype=np.float64), {str(name): X[name] for name in others}


def _side_by_side(columns: Sequence[FloatArray]) -> FloatArray:
    """Shape (n_rows, n_columns), column after column in memory, as pandas lays them."""
    return np.array(columns, dtype=np.float64).T


def _is_numeric(kind: Any) -> bool:
    if isinstance(kind, np.dtype):
        return kind.kind in "iuf"
    return bool(pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind))


def _with_constant(numbers: FloatArray) -> FloatArray:
    return np.hstack([np.ones((len(numbers), 1)), numbers])
