"""One variable of a formula: numbers, a factor, an ordered factor or a polynomial basis, learned once and evaluated anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import DataError, MlperfError, UsageError
from mlperf.core.json_fields import Fields
from mlperf.models.formula.evaluate import Frame, evaluate, raw_column
from mlperf.models.formula.expressions import Call, Expression, Name, Number, parse, text
from mlperf.models.formula.number_format import number_text
from mlperf.models.formula.polynomials import PolynomialBasis, contrast_names, contrast_polynomials

KINDS = ("numeric", "factor", "ordered", "basis")


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable and what was learned about it.

    Parameters
    ----------
    name : str
        R's text: ``"kind"``, ``"log(flops)"``, ``"poly(b, 3)"``.
    kind : {"numeric", "factor", "ordered", "basis"}
    levels : tuple of str
        Levels of a factor in order; the first is the base.
    basis : PolynomialBasis, optional
        Recurrence of an orthogonal polynomial.
    """

    name: str
    kind: str
    levels: tuple[str, ...] = ()
    basis: PolynomialBasis | None = None

    @property
    def is_factor(self) -> bool:
        """Whether the values are levels."""
        return self.kind in ("factor", "ordered")

    def read(self, frame: Frame, *, strict: bool = True) -> FloatArray:
        """Values of the variable: numbers, basis columns, or the position of each level.

        Parameters
        ----------
        frame : DataFrame or mapping of columns
        strict : bool
            Whether an unknown level is an error; otherwise it is missing.

        Returns
        -------
        array, shape (n_samples,) or (n_samples, degree)
            NaN where missing.

        Raises
        ------
        DataError
            Where a level was not there at the fit; names level and column.
        """
        tree = parse(self.name)
        if self.is_factor:
            return self._level_numbers(*_labels(_categories(tree, frame)), strict=strict)
        if self.basis is not None and isinstance(tree, Call):
            return self.basis.columns(evaluate(tree.arguments[0], frame))
        return evaluate(tree, frame)

    def _level_numbers(self, codes: IntArray, labels: list[str], *, strict: bool) -> FloatArray:
        position = {level: float(number) for number, level in enumerate(self.levels)}
        unknown = next((label for label in labels if label not in position), None)
        if unknown is not None and strict:
            raise DataError(
                f"got the level {unknown!r}, expected one of {', '.join(self.levels)}",
                place=f"column {self.name}",
                hint="The model was fitted without this level: measure it, or predict other rows.",
            )
        # The last one stands for what is missing, whose code is -1.
        numbers = np.array([*(position.get(label, np.nan) for label in labels), np.nan], dtype=np.float64)
        return np.asarray(numbers[codes])

    def width(self, *, full: bool) -> int:
        """Number of columns; ``full`` gives a factor a column for every level."""
        if self.is_factor:
            return len(self.levels) if full or len(self.levels) == 1 else len(self.levels) - 1
        return self.basis.degree if self.basis is not None else 1

    def suffixes(self, *, full: bool) -> list[str]:
        """What R appends to the variable's name for each column."""
        if not self.is_factor:
            degree = self.width(full=full)
            return [""] if degree == 1 else [str(power + 1) for power in range(degree)]
        if full or len(self.levels) == 1:
            return list(self.levels)
        return contrast_names(len(self.levels)) if self.kind == "ordered" else list(self.levels[1:])

    def columns(self, values: FloatArray, *, full: bool) -> FloatArray:
        """Columns of the model matrix from what ``read`` returned, shape (n_samples, width)."""
        if not self.is_factor:
            return values.reshape(len(values), -1)
        table = self._contrasts(full=full)
        missing = np.isnan(values)
        columns = table[np.where(missing, 0.0, values).astype(np.intp)]
        columns[missing] = np.nan
        return columns

    def _contrasts(self, *, full: bool) -> FloatArray:
        n_levels = len(self.levels)
        if full or n_levels == 1:
            return np.eye(n_levels)
        return contrast_polynomials(n_levels) if self.kind == "ordered" else np.eye(n_levels)[:, 1:]

    def to_dict(self) -> dict[str, Any]:
        """JSON types; ``variable_from_dict`` reads them back."""
        return {
            "name": self.name,
            "kind": self.kind,
            "levels": list(self.levels),
            "basis": self.basis.to_dict() if self.basis else None,
        }


def variable_from_dict(stored: Any, path: str = "$") -> Variable:
    """The inverse of ``Variable.to_dict``; DataError with the JSON path of what is wrong."""
    with Fields(stored, path) as fields:
        name, kind, levels = fields.text("name"), fields.text("kind", KINDS), fields.texts("levels")
        basis = None if fields.absent("basis") else PolynomialBasis.from_dict(fields.raw("basis"), f"{path}.basis")
    if (kind == "basis") != (basis is not None) or (kind in ("factor", "ordered")) != bool(levels):
        raise DataError(f"got levels or a basis that do not belong to a variable of kind {kind!r}", place=path)
    try:
        parse(name)
    except MlperfError as error:
        raise DataError(f"got {name!r}, expected a variable's name: {error.message}", place=f"{path}.name") from error
    return Variable(name, kind, levels, basis)


def learn_variable(name: str, frame: Frame) -> Variable:
    """Find out what a variable is: its kind, its levels in order, its polynomial recurrence.

    Raises
    ------
    DataError, UsageError
        Where the column is absent, or the polynomial has too few distinct values.
    """
    tree = parse(name)
    if isinstance(tree, Call) and tree.function == "poly":
        return _learned_polynomial(name, tree, frame)
    if isinstance(tree, Call) and tree.function == "factor":
        return Variable(name, "factor", _sorted_levels(_categories(tree, frame)))
    if isinstance(tree, Name):
        column = raw_column(frame, tree.name)
        dtype = getattr(column, "dtype", None)
        if isinstance(dtype, pd.CategoricalDtype):
            return Variable(name, "ordered" if dtype.ordered else "factor", tuple(_label(level) for level in dtype.categories))
        if _is_text(column):
            return Variable(name, "factor", _sorted_levels(column))
    return Variable(name, "numeric")


def used_levels(variable: Variable, values: FloatArray) -> Variable:
    """The same factor without the levels that no row uses (R drops them from a model frame)."""
    present = set(values[~np.isnan(values)].astype(np.intp).tolist())
    return Variable(variable.name, variable.kind, tuple(level for number, level in enumerate(variable.levels) if number in present))


def _learned_polynomial(name: str, tree: Call, frame: Frame) -> Variable:
    named = dict(tree.named)
    degree = named.get("degree", tree.arguments[1] if len(tree.arguments) > 1 else Number(1.0))
    if not tree.arguments or not isinstance(degree, Number) or degree.value < 1 or degree.value != int(degree.value):
        raise UsageError(f"got {text(tree)!r}, expected poly(column, degree) with a whole degree >= 1")
    values = evaluate(tree.arguments[0], frame)
    raw = named.get("raw") in (Name("TRUE"), Name("T"))
    return Variable(name, "basis", (), PolynomialBasis.learn(values, int(degree.value), raw=raw, place=name))


def _categories(tree: Expression, frame: Frame) -> Any:
    inner = tree.arguments[0] if isinstance(tree, Call) and tree.arguments else tree
    return raw_column(frame, inner.name) if isinstance(inner, Name) else evaluate(inner, frame)


def _is_text(column: Any) -> bool:
    values = column if hasattr(column, "dtype") else np.asarray(column)
    if pd.api.types.is_bool_dtype(values.dtype):
        return True
    if pd.api.types.is_numeric_dtype(values.dtype):
        return False
    return any(isinstance(value, str) for value in values)


def _label(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float | np.floating):
        return number_text(float(value))
    return str(value)


def _labels(column: Any) -> tuple[IntArray, list[str]]:
    """Place of each row's label among the labels, -1 where it is missing; labels in the order in which rows have them."""
    if pd.api.types.infer_dtype(column, skipna=True) in ("string", "integer", "boolean"):
        codes, values = pd.factorize(pd.Series(column))
        return codes, [_label(value) for value in values]
    # Values of several types may be equal and have labels that are not: 1, 1.0 and True.
    known: dict[str, int] = {}
    texts = (None if gone else _label(value) for value, gone in zip(column, pd.isna(column), strict=True))
    places = [-1 if label is None else known.setdefault(label, len(known)) for label in texts]
    return np.array(places, dtype=np.int64), list(known)


def _sorted_levels(column: Sequence[Any]) -> tuple[str, ...]:
    series = pd.Series(column).dropna()
    return tuple(_label(value) for value in sorted(series.unique().tolist()))
