"""The value of an arithmetic expression on the columns of a frame, by a table of allowed operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError, UsageError
from mlperf.models.formula.expressions import Call, Expression, Group, Name, Number, Signed, text

if TYPE_CHECKING:
    import pandas as pd

Frame: TypeAlias = "pd.DataFrame | Mapping[str, Any]"

_UNARY: dict[str, Callable[[FloatArray], FloatArray]] = {
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "abs": np.abs,
    "I": np.asarray,
}
_MANY: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "min": np.minimum,
    "max": np.maximum,
    "pmin": np.minimum,
    "pmax": np.maximum,
}
_BINARY: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "^": np.power,
}


def raw_column(frame: Frame, name: str) -> Any:
    """The column ``name`` of a frame or mapping.

    Raises
    ------
    DataError
        Where there is no such column; names the nearest ones.
    """
    if name in frame:
        return frame[name]
    available = [str(column) for column in frame]
    if name not in available:
        near = get_close_matches(name, available, n=3) or available[:8]
        raise DataError(
            f"got no column {name!r}, expected one of {', '.join(near)}",
            hint="Check the spelling of the term or the table's header.",
        )
    return frame[name]


def _numeric_column(frame: Frame, name: str) -> FloatArray:
    """The column ``name`` as float64, missing values as NaN."""
    column = raw_column(frame, name)
    refuse_dates(column, f"column {name}")
    try:
        if hasattr(column, "to_numpy"):
            if column.dtype == np.float64:
                return np.asarray(column.to_numpy())
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise DataError(f"got a column of text or categories, expected numbers in {name!r}", place=f"column {name}") from cause


def refuse_dates(values: Any, place: str) -> None:
    """Refuse dates and spans of time: as numbers they are counts of the unit that happens to hold them, which differs by a million.

    Raises
    ------
    DataError
        Says what to write in their place.
    """
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    if kind == "M":
        hint = "Count what matters from a date of your choice: (t - t0).dt.total_seconds() / 86400."
        raise DataError("got dates, expected numbers", place=place, hint=hint)
    if kind == "m":
        raise DataError("got spans of time, expected numbers", place=place, hint="Say in which unit: .dt.total_seconds().")


def evaluate(tree: Expression, frame: Frame) -> FloatArray:
    """Evaluate an arithmetic expression elementwise.

    Parameters
    ----------
    tree : Expression
    frame : DataFrame or mapping of columns
        Column name to values, shape (n_samples,).

    Returns
    -------
    array, shape (n_samples,) or () for a constant
        NaN where an input is missing or the operation is undefined, as in R.

    Raises
    ------
    DataError
        Where a column is absent or not numeric.
    UsageError
        Where the expression is not arithmetic.
    """
    with np.errstate(all="ignore"):
        return _value(tree, frame)


def _value(tree: Expression, frame: Frame) -> FloatArray:
    if isinstance(tree, Number):
        return np.asarray(tree.value)
    if isinstance(tree, Name):
        return _numeric_column(frame, tree.name)
    if isinstance(tree, Group):
        return _value(tree.inner, frame)
    if isinstance(tree, Signed):
        operand = _value(tree.operand, frame)
        return -operand if tree.operator == "-" else operand
    if isinstance(tree, Call):
        return _called(tree, frame)
    if tree.operator not in _BINARY:
        raise UsageError(f"got {tree.operator!r} in {text(tree)!r}, expected + - * / ^")
    left, right = _value(tree.left, frame), _value(tree.right, frame)
    # A whole power by multiplication is what R does for squares; np.power on floats agrees to the last bit there.
    return _BINARY[tree.operator](left, right)


def _called(tree: Call, frame: Frame) -> FloatArray:
    values = [_value(argument, frame) for argument in tree.arguments]
    if tree.function in _UNARY and len(values) == 1:
        return np.asarray(_UNARY[tree.function](values[0]))
    if tree.function in _MANY and len(values) >= 2:
        result = values[0]
        for value in values[1:]:
            result = _MANY[tree.function](result, value)
        return result
    raise UsageError(f"got {text(tree)!r}, expected an elementwise function with its number of arguments")
