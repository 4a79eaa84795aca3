"""Blocks of the report that repeat the selection: post-selection tests, stability, cross-validation; made when asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mlperf.core.arrays import IntArray
from mlperf.core.errors import UsageError
from mlperf.models.search import Selection
from mlperf.models.stability import SelectionProblem

EXTRAS = ("selective", "stability", "nested_cv")


@dataclass(frozen=True, slots=True, eq=False)
class Extras:
    """What the repeated selections need.

    Parameters
    ----------
    problem : SelectionProblem
        The rows and columns of the search.
    selection : Selection
    reported : tuple of int
        Term ids of the final model.
    groups : list of array of int
        Columns of each term of the problem's triangle.
    kept : array of int, shape (rank,)
        Column of that triangle of each reported coefficient, -1 where it has none.
    wanted : tuple of str
        Names of blocks that are switched on.
    """

    problem: SelectionProblem
    selection: Selection
    reported: tuple[int, ...]
    groups: list[IntArray]
    kept: IntArray
    wanted: tuple[str, ...]

    def make(self, name: str) -> Any:
        """Compute one block, None where it is switched off."""
        return _MAKERS[name](self) if name in self.wanted else None


def wanted_extras(report: Any) -> tuple[str, ...]:
    """Which blocks ``report=`` asks for: ``auto`` all, ``none`` none, or a list of names.

    Raises
    ------
    UsageError
        An unknown name.
    """
    if report == "auto":
        return EXTRAS
    if report == "none":
        return ()
    names = (report,) if isinstance(report, str) else tuple(report)
    unknown = [name for name in names if name not in (*EXTRAS, "diagnostics")]
    if unknown:
        raise UsageError(f"got report={unknown[0]!r}, expected 'auto', 'none' or some of diagnostics, {', '.join(EXTRAS)}")
    return tuple(name for name in names if name in EXTRAS)


def _selective(extras: Extras) -> Any:
    from mlperf.models.selective import selective_inference

    problem = extras.problem
    return selective_inference(problem.triangle(), extras.selection, extras.groups, tol=problem.tol)


def _stability(extras: Extras) -> Any:
    from mlperf.models.stability import selection_stability

    return selection_stability(extras.problem, extras.reported)


def _nested(extras: Extras) -> Any:
    from mlperf.models.nested import nested_error

    return nested_error(extras.problem, extras.reported)


_MAKERS: dict[str, Callable[[Extras], Any]] = {"selective": _selective, "stability": _stability, "nested_cv": _nested}
