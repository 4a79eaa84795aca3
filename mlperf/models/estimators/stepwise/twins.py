"""Candidates that a search left out although the rows cannot tell them from one that it kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.models.estimators.stepwise.problem import Problem
from mlperf.models.formula.formula import Term

LEAST_CORRELATION = 0.995
"""Variance inflation of about 100 with both in the model."""
MAX_WARNINGS = 5


def twin_warnings(problem: Problem, kept: Sequence[Term]) -> list[str]:
    """Name every candidate of one column that is not in the model and correlates with one that is, strongest first.

    Parameters
    ----------
    problem : Problem
    kept : sequence of Term
        Terms of the final model.
    """
    terms = sorted(problem.terms, key=lambda term: term.order)
    mask = problem.workspace.complete(terms)
    inside = {term.key for term in kept}
    if len(kept) == len(terms) or not mask.any():
        return []
    triangle, groups = problem.workspace.place(terms, mask)
    single = [(term, int(group[0])) for term, group in zip(terms, groups, strict=True) if len(group) == 1]
    own = [pair for pair in single if pair[0].key in inside]
    left = [pair for pair in single if pair[0].key not in inside]
    if not own or not left:
        return []
    rows = triangle.r[int(triangle.intercept) :]
    correlation = correlations(rows[:, [column for _, column in left]], rows[:, [column for _, column in own]])
    nearest = np.abs(correlation).argmax(axis=1)
    strength = correlation[np.arange(len(left)), nearest]
    found = [place for place in np.argsort(-np.abs(strength), kind="stable").tolist() if abs(strength[place]) >= LEAST_CORRELATION]
    return [
        f"collinear: {left[place][0].name} was left out and correlates at {strength[place]:.4f} with "
        f"{own[nearest[place]][0].name}; these rows cannot tell which of them matters"
        for place in found[:MAX_WARNINGS]
    ]


def correlations(left: FloatArray, right: FloatArray) -> FloatArray:
    """Cosines of columns that are already centred, shape (n_left, n_right); 0 for a zero column."""
    lengths = np.outer(np.sqrt((left**2).sum(axis=0)), np.sqrt((right**2).sum(axis=0)))
    return np.asarray(np.divide(left.T @ right, lengths, out=np.zeros(lengths.shape), where=lengths > 0))
