"""From a TOML table to the fields of a dataclass: unknown keys, missing keys and wrong types are errors that name the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlperf.core.errors import DataError
from mlperf.specs.layer import did_you_mean


def check_keys(table: Mapping[str, Any], known: tuple[str, ...], required: tuple[str, ...], place: str) -> None:
    """Accept ``table`` only with known keys and with all required ones.

    Raises
    ------
    DataError
        Names the key, with the nearest known one.
    """
    for key in table:
        if key not in known:
            raise DataError(f"got key {key!r}, expected one of {', '.join(known)}", place=place, hint=did_you_mean(key, known))
    for key in required:
        if key not in table:
            raise DataError(f"got no key {key!r}, expected it", place=place, hint=f"Add a line {key} = ... to the file.")


def placed(error: DataError, place: str) -> DataError:
    """The same error, with the file's name before its place."""
    return DataError(error.message, place=f"{place}, {error.place}" if error.place else place, hint=error.hint)
