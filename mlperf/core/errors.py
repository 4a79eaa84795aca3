"""One error class for each exit code; every error says where, what, and what to do."""

from __future__ import annotations

import os
from operator import index

from mlperf.core.printable import printable, printable_lines


class MlperfError(Exception):
    """An error a user can act on.

    Parameters
    ----------
    message : str
        What was found and what was expected.
    place : str, optional
        Where: ``"campaign/steps.csv, line 41, column cpu_s"``.
    hint : str, optional
        What to do about it.
    """

    exit_code = 1

    def __init__(self, message: str, *, place: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.hint = hint

    def __str__(self) -> str:
        """``place: message`` and the hint on a line of its own, fit for any terminal."""
        head = f"{printable(self.place)}: {self.message}" if self.place else self.message
        return printable_lines(f"{head}\n  hint: {self.hint}" if self.hint else head)


class UsageError(MlperfError):
    """The command or function was called wrongly."""

    exit_code = 2


class DataError(MlperfError, ValueError):
    """A table, specification or model file is wrong."""

    exit_code = 3


class FitError(MlperfError, ValueError):
    """The data are readable but no model can be fitted to them."""

    exit_code = 4


class DomainError(MlperfError):
    """A prediction lies outside the measured domain and extrapolation was refused."""

    exit_code = 5


class MissingExtraError(MlperfError):
    """An optional package or program is absent."""

    exit_code = 6


class InterruptedRun(MlperfError):  # noqa: N818 - not a fault: the user asked for it
    """The user stopped a run; what was measured is kept."""

    exit_code = 130


PATH = (str, os.PathLike)
"""What names a file."""


def check_count(value: object, place: str, least: int = 1) -> None:
    """Refuse an argument that is no whole number from ``least`` on; UsageError names it and the value."""
    try:
        found = least - 1 if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:
        found = least - 1
    if found < least:
        raise UsageError(f"got {value!r:.60}, expected a whole number >= {least}", place=place)


def fold_count(n_folds: object) -> int:
    """A number of folds as it was asked for: at least two, or 0 where each group is left out by itself.

    Raises
    ------
    UsageError
        It is none: with one fold nothing would be left to fit on.
    """
    check_count(n_folds, "n_folds", 0)
    count = index(n_folds)  # type: ignore[arg-type]
    if count == 1:
        raise UsageError("got 1 fold, which leaves nothing to fit on, expected at least 2, or 0", place="n_folds")
    return count


def check_type(value: object, kinds: type | tuple[type, ...], place: str, expected: str, hint: str | None = None) -> None:
    """Refuse an argument of another type than a function takes.

    Parameters
    ----------
    value : object
        What was given.
    kinds : type or tuple of type
        What is right.
    place : str
        Name of the argument.
    expected : str
        The same in words: ``"a JobSpec"``.
    hint : str, optional
        How to get one.

    Raises
    ------
    UsageError
        Names the argument and the type that was given.
    """
    if not isinstance(value, kinds):
        raise UsageError(f"got {type(value).__name__}, expected {expected}", place=place, hint=hint)
