"""Checks shared by all specifications read from files; every error names the key, the value and what was expected."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from mlperf.core.documents import read_toml
from mlperf.core.errors import DataError
from mlperf.core.suggest import known_word

Spec = TypeVar("Spec")

GREATEST = 1e30
"""No figure of a specification is larger in any of its units, and products of several stay finite."""

GREATEST_WHOLE = 2**63 - 1
"""Arrays of whole numbers hold no larger one."""


@dataclasses.dataclass(frozen=True, slots=True)
class Figure:
    """What a number of a specification may be: whole or not, its least value (excluded with ``above``), optional or not."""

    name: str
    whole: bool = False
    least: float = 0.0
    above: bool = False
    optional: bool = False

    @property
    def expected(self) -> str:
        """The expected value in words."""
        return f"{'a whole number' if self.whole else 'a number'} {'>' if self.above else '>='} {self.least:g}"

    @property
    def most(self) -> float:
        """The largest value."""
        return GREATEST_WHOLE if self.whole else GREATEST

    def accepts(self, value: object) -> bool:
        """Whether ``value`` is such a number."""
        if value is None:
            return self.optional
        if isinstance(value, bool) or not isinstance(value, int if self.whole else (int, float)):
            return False
        if not abs(value) <= self.most:  # NaN, infinities, and what products with other figures would make one
            return False
        return value > self.least if self.above else value >= self.least


def check_figures(spec: object, figures: tuple[Figure, ...], place: str) -> None:
    """Accept ``spec`` only if every figure among its attributes is what it may be; NumPy's numbers become Python's own.

    Raises
    ------
    DataError
        Names the figure and its value.
    """
    for figure in figures:
        value = getattr(spec, figure.name)
        if getattr(value, "ndim", None) == 0:
            # A cell of a table: what compares and writes the figure knows Python's numbers alone.
            value = value.item()
            object.__setattr__(spec, figure.name, value)
        if not figure.accepts(value):
            quoted = "Numbers are written without quotes and units; the unit is part of the name."
            hint = quoted if isinstance(value, str) else f"Correct {figure.name}; its unit is part of the name."
            if figure.whole and isinstance(value, float) and value.is_integer() and abs(value) <= figure.most:
                hint = f"Write it without a point and an exponent: {figure.name} = {int(value)}"
            most = f", at most {figure.most:g}" if isinstance(value, int | float) and value > figure.most else ""
            raise DataError(f"got {value!r}, expected {figure.expected}{most}", place=f"{place}, {figure.name}", hint=hint)


def check_keys(table: Mapping[str, Any], known: tuple[str, ...], required: tuple[str, ...], place: str) -> None:
    """Accept ``table`` only with known keys and with all required ones.

    Raises
    ------
    DataError
        Names the key, with the nearest known one.
    """
    for key in table:
        known_word(key, known, "key", place=place, error=DataError)
    for key in required:
        if key not in table:
            raise DataError(f"got no key {key!r}, expected it", place=place, hint=f"Add a line {key} = ...")


def check_texts(table: object, known: tuple[str, ...] | None, place: str) -> None:
    """Accept a mapping from names (of ``known``, if given) to texts.

    Raises
    ------
    DataError
        Not a mapping, an unknown name, or a value that is not text.
    """
    if not isinstance(table, Mapping):
        raise DataError(f"got {table!r}, expected a table of texts", place=place, hint='As in cuda = "7.0".')
    if known is not None:
        check_keys(table, known, (), place)
    for key, value in table.items():
        if not isinstance(value, str):
            raise DataError(f"got {value!r}, expected a text in quotes", place=f"{place}, {key}", hint=f'As in {key} = "...".')


def overridden(spec: Spec, **changes: Any) -> Spec:
    """A copy of a specification with some fields changed; ``None`` leaves a field as it is.

    The copy is checked like any other.

    Raises
    ------
    DataError
        A field that the specification does not have, or a value that it does not accept.
    """
    given = {name: value for name, value in changes.items() if value is not None}
    known = tuple(field.name for field in dataclasses.fields(spec) if field.init)  # type: ignore[arg-type]
    check_keys(given, known, (), type(spec).__name__)
    return dataclasses.replace(spec, **given)  # type: ignore[type-var]


def placed(error: DataError, place: str) -> DataError:
    """The same error, with the file's name before its place."""
    if error.place and error.place.startswith(place):
        return error
    return DataError(error.message, place=f"{place}, {error.place}" if error.place else place, hint=error.hint)


def read_spec(path: str | Path, made: Callable[[dict[str, Any]], Spec]) -> Spec:
    """What is made of the table in a TOML file.

    Raises
    ------
    DataError
        Names the file, the key and what was expected.
    """
    table = read_toml(path)
    try:
        return made(table)
    except DataError as error:
        raise placed(error, str(path)) from None


def plain_fields(spec: object) -> dict[str, Any]:
    """The fields of a specification as values of TOML and JSON, those that nobody gave left out."""
    table = {field.name: getattr(spec, field.name) for field in dataclasses.fields(spec)}  # type: ignore[arg-type]
    plain = {
        name: dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, tuple) else value
        for name, value in table.items()
    }
    return {name: value for name, value in plain.items() if value is not None and value not in ("", {})}
