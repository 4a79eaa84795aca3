"""Read a JSON object key by key: every value is checked, every error carries its JSON path, no key is left over."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from mlperf.core.arrays import LONGEST, SHORTEST, FloatArray
from mlperf.core.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

NOT_FINITE = {"NaN": math.nan, "Inf": math.inf, "-Inf": -math.inf}


class Fields(AbstractContextManager["Fields"]):
    """One JSON object under inspection; use it as a context manager so that left-over keys are found.

    Parameters
    ----------
    value : mapping
        What ``json.loads`` made of the object.
    path : str
        Its JSON path, ``"$.components.im2col"``; the place of every error.

    Raises
    ------
    DataError
        Where a key is missing or unknown, a value has the wrong type, length or sign, or a number is not finite.

    Examples
    --------
    >>> with Fields({"sigma": 0.5}, "$") as fields:
    ...     fields.number("sigma", lower=0.0)
    0.5
    """

    def __init__(self, value: Any, path: str = "$") -> None:
        self.path = path
        if not isinstance(value, Mapping):
            self._refuse(path, value, "an object")
        self._value = value
        self._unread = set(value)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()

    def close(self) -> None:
        """Raise for the first key that nobody asked for."""
        if self._unread:
            key = min(self._unread, key=str)
            raise DataError(
                "unknown key", place=f"{self.path}.{key}", hint="The file was written by another version, or changed by hand."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the object's keys in sorted order (asking for them reads none)."""
        return tuple(sorted(self._value))

    @property
    def ordered_names(self) -> tuple[str, ...]:
        """Names of the object's keys in the file's order."""
        return tuple(self._value)

    def raw(self, key: str) -> Any:
        """The value under ``key`` as JSON types, unchecked."""
        if key not in self._value:
            raise DataError(
                "missing key", place=f"{self.path}.{key}", hint="The file is cut short, or was written by another version."
            )
        self._unread.discard(key)
        return self._value[key]

    def absent(self, key: str) -> bool:
        """Whether ``key`` is null; a null counts as read."""
        return self.raw(key) is None

    def missing(self, key: str) -> bool:
        """Whether ``key``, which a file may lack, is not there or null."""
        return key not in self._value or self.absent(key)

    def number(self, key: str, *, lower: float = -math.inf, upper: float = math.inf, finite: bool = True) -> float:
        """One number in [lower, upper]; ``"NaN"``, ``"Inf"``, ``"-Inf"`` only where ``finite`` is false."""
        return self._checked_number(self.raw(key), f"{self.path}.{key}", lower, upper, finite)

    def integer(self, key: str, *, lower: int = 0, upper: int = 2**53) -> int:
        """One whole number in [lower, upper]."""
        value = self.raw(key)
        if isinstance(value, bool) or not isinstance(value, int) or not lower <= value <= upper:
            self._refuse(f"{self.path}.{key}", value, f"a whole number in [{lower}, {upper}]")
        return value

    def boolean(self, key: str) -> bool:
        """``true`` or ``false``."""
        value = self.raw(key)
        if not isinstance(value, bool):
            self._refuse(f"{self.path}.{key}", value, "true or false")
        return value

    def text(self, key: str, choices: Sequence[str] | None = None) -> str:
        """One string, one of ``choices`` where they are given."""
        value = self.raw(key)
        if not isinstance(value, str) or (choices is not None and value not in choices):
            self._refuse(f"{self.path}.{key}", value, "a string" if choices is None else "one of " + ", ".join(map(repr, choices)))
        return value

    def texts(self, key: str, length: int | None = None) -> tuple[str, ...]:
        """A list of strings, shape (length,)."""
        values = self.items(key, length)
        for index, value in enumerate(values):
            if not isinstance(value, str):
                self._refuse(f"{self.path}.{key}[{index}]", value, "a string")
        return tuple(values)

    def numbers(self, key: str, length: int | None = None, *, lower: float = -math.inf, finite: bool = True) -> FloatArray:
        """A list of numbers as an array, shape (length,); the length is compared before anything is built."""
        values = self.items(key, length)
        plain = _plain_numbers(values)
        if plain is not None and np.isfinite(plain).all() and (plain >= lower).all():
            return plain
        return np.array(
            [
                self._checked_number(value, f"{self.path}.{key}[{index}]", lower, math.inf, finite)
                for index, value in enumerate(values)
            ],
            dtype=np.float64,
        )

    def times(self, key: str, length: int | None = None) -> FloatArray:
        """A list of measured times in any unit as an array, shape (length,): numbers in [`SHORTEST`, `LONGEST`]."""
        values = self.numbers(key, length)
        wrong = np.flatnonzero((values < SHORTEST) | (values > LONGEST))
        if len(wrong):
            self._refuse(f"{self.path}.{key}[{wrong[0]}]", float(values[wrong[0]]), f"a time in [{SHORTEST:g}, {LONGEST:g}]")
        return values

    def integers(self, key: str, length: int | None = None, *, lower: int = 0, upper: int = 2**53) -> tuple[int, ...]:
        """A list of whole numbers in [lower, upper]."""
        values = self.items(key, length)
        if set(map(type, values)) == {int} and lower <= min(values) and max(values) <= upper:
            return tuple(values)
        for index, value in enumerate(values):
            if isinstance(value, bool) or not isinstance(value, int) or not lower <= value <= upper:
                self._refuse(f"{self.path}.{key}[{index}]", value, f"a whole number in [{lower}, {upper}]")
        return tuple(values)

    def matrix(self, key: str, n_rows: int | None, n_columns: int, *, finite: bool = True) -> FloatArray:
        """A list of equally long rows as an array, shape (n_rows, n_columns)."""
        rows = self.items(key, n_rows)
        result = np.empty((len(rows), n_columns))
        for index, row in enumerate(rows):
            result[index] = Fields({"row": row}, f"{self.path}.{key}[{index}]").numbers("row", n_columns, finite=finite)
        return result

    def items(self, key: str, length: int | None = None) -> list[Any]:
        """A list, unchecked but for its length."""
        value = self.raw(key)
        if not isinstance(value, list):
            self._refuse(f"{self.path}.{key}", value, "a list")
        if length is not None and len(value) != length:
            raise DataError(f"got {len(value)} values, expected {length}", place=f"{self.path}.{key}")
        return value

    def child(self, key: str) -> Fields:
        """The object under ``key``; close it as well."""
        return Fields(self.raw(key), f"{self.path}.{key}")

    def children(self, key: str, length: int | None = None) -> tuple[Fields, ...]:
        """The objects of the list under ``key``."""
        return tuple(Fields(value, f"{self.path}.{key}[{index}]") for index, value in enumerate(self.items(key, length)))

    def named_children(self, key: str) -> dict[str, Fields]:
        """The objects of the mapping under ``key``, in the file's order."""
        parent = Fields(self.raw(key), f"{self.path}.{key}")
        return {name: parent.child(name) for name in parent.ordered_names}

    @classmethod
    def _checked_number(cls, value: Any, path: str, lower: float, upper: float, finite: bool) -> float:
        if not finite and isinstance(value, str) and value in NOT_FINITE:
            return NOT_FINITE[value]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            cls._refuse(path, value, "a finite number" if finite else "a number")
        try:
            number = float(value)
        except OverflowError:
            cls._refuse(path, value, "a number that fits 64 bits")
        if not math.isfinite(number) or not lower <= number <= upper:
            cls._refuse(
                path, value, "a finite number" + (f" in [{lower:g}, {upper:g}]" if (lower, upper) != (-math.inf, math.inf) else "")
            )
        return number

    @staticmethod
    def _refuse(path: str, value: Any, expected: str) -> NoReturn:
        shown = repr(value)
        raise DataError(f"got {shown if len(shown) <= 60 else shown[:57] + '...'}, expected {expected}", place=path)


NO_NUMBERS = {"NaN": float("nan"), "Inf": float("inf"), "-Inf": float("-inf")}


def _plain_numbers(values: list[Any]) -> FloatArray | None:
    """The list as an array where it holds nothing but floats and whole numbers that a float can hold, else None."""
    if not set(map(type, values)) <= {float, int}:
        return None
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:
        return None


def frame_from_dict(value: Any, path: str) -> pd.DataFrame:
    """A table as `mlperf.core.shown.plain` wrote it."""
    import pandas as pd  # not above: ranks of a run read their job and have no tables

    with Fields(value, path) as fields:
        columns = fields.texts("columns")
        items = [Fields({"row": row}, f"{path}.rows[{at}]") for at, row in enumerate(fields.items("rows"))]
        rows = [[_cell(cell) for cell in item.items("row", len(columns))] for item in items]
    return pd.DataFrame(rows, columns=list(columns))


def _cell(cell: Any) -> Any:
    return NO_NUMBERS.get(cell, cell) if isinstance(cell, str) else cell
