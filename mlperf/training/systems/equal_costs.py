"""Other costs that say the same of every fitted row: what few counts of GPUs, or few rows, cannot tell apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields
from mlperf.core.shown import plain

SAME = 1e-9
"""Share of the largest singular value below which a direction of the costs changes no row."""

ROUNDING = 1e-6
"""Share of the longest step by which two sets of costs may differ and be one."""


@dataclass(frozen=True, slots=True, eq=False)
class EqualCosts:
    """Sets of costs under which every row keeps its predicted time: each cost as low and as high as it may be.

    Costs that rows do not tell apart (a ring's and a doubling's with two counts of GPUs) fit alike and part where more is asked.

    Attributes
    ----------
    costs : array, shape (n_sets, n_terms)
        Not negative; without rows where the design of every part tells all costs.
    part : array of int, shape (n_sets,)
        Whose costs they are.

    References
    ----------
    Manski (2003), Partial Identification of Probability Distributions, chapter 1.
    """

    costs: FloatArray
    part: IntArray

    @classmethod
    def of(cls, design: FloatArray, seconds: FloatArray, costs: FloatArray, part: IntArray) -> EqualCosts:
        """Beside costs of shape (n_parts, n_terms) that were fitted to the rows of their part."""
        sets = [_corners(design[part == number], seconds[part == number], own) for number, own in enumerate(costs)]
        return cls(np.concatenate(sets), np.repeat(np.arange(len(sets)), [len(own) for own in sets]))

    @classmethod
    def none(cls, n_terms: int) -> EqualCosts:
        """Where rows tell all costs, or nobody knows."""
        return cls(np.empty((0, n_terms)), np.empty(0, int))

    def least_and_most(self, design: FloatArray, step_s: FloatArray, part: IntArray) -> tuple[FloatArray, FloatArray]:
        """The least and the most seconds that sets say of each row, shape (n_rows,), what was predicted among them.

        Parameters
        ----------
        design : array, shape (n_rows, n_terms)
            In the units of the terms.
        step_s : array, shape (n_rows,)
            Predicted seconds.
        part : array of int, shape (n_rows,)
            Number of each row's part.
        """
        least, most = step_s.copy(), step_s.copy()
        for costs, number in zip(self.costs, self.part, strict=True):
            rows = np.flatnonzero(part == number)
            seconds = design[rows] @ costs
            least[rows], most[rows] = np.minimum(least[rows], seconds), np.maximum(most[rows], seconds)
        return least, most

    def fits(self, costs: FloatArray) -> bool:
        """Whether these are sets of as many costs, and of parts that there are; ``costs`` of shape (n_parts, n_terms)."""
        n_parts, n_terms = costs.shape
        return self.costs.shape[1] == n_terms and not (self.part >= n_parts).any()

    def to_dict(self) -> dict[str, Any]:
        """As part of the document of a model."""
        return {"costs": plain(self.costs), "part": plain(self.part)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> EqualCosts:
        """Again; raises DataError with the JSON path of what is wrong."""
        with Fields(document, path) as fields:
            part = np.array(fields.integers("part"), int)
            sets = fields.items("costs", len(part))
            costs = fields.matrix("costs", len(part), len(sets[0]) if sets and isinstance(sets[0], list) else 0)
        if (costs < 0.0).any():
            raise DataError(f"got a cost of {costs.min():g}, expected none below 0", place=f"{path}.costs")
        return cls(costs, part)


def _corners(design: FloatArray, seconds: FloatArray, costs: FloatArray) -> FloatArray:
    """Sets of one part, shape (n_sets, n_terms); none where its rows tell all costs."""
    relative = design / seconds[:, None]
    size = relative.max(axis=0, initial=0.0)
    known = np.flatnonzero(size > 0.0)
    # In units of each term's size: costs lie ten powers of ten apart.
    _, singular, directions = np.linalg.svd(relative[:, known] / size[known], full_matrices=False)
    told = singular > SAME * singular.max(initial=0.0)
    if told.sum() == len(known):
        return np.empty((0, len(costs)))
    equations = singular[told, None] * directions[told]
    wanted = equations @ (costs[known] * size[known])
    tried = [linprog(sign * each, A_eq=equations, b_eq=wanted) for each in np.eye(len(known)) for sign in (1.0, -1.0)]
    found = np.array([each.x for each in tried if each.success]).reshape(-1, len(known))
    sets = np.zeros((len(found), len(costs)))
    sets[:, known] = np.maximum(found, 0.0) / size[known]
    _, first = np.unique(np.round(found / ROUNDING), axis=0, return_index=True)
    return sets[np.sort(first)]
