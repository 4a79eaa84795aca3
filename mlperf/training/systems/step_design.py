"""The columns that costs are fitted to: terms of work by the levels of factors, and the parts that are fitted by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.training.systems.step_terms import StepTerm

WORK = ("compute", "recomputation")
"""Components whose costs belong to the device: they differ where ``factors`` do."""

UNKNOWN = ""


def design_matrix(
    terms: Sequence[StepTerm],
    derived: Mapping[str, FloatArray],
    rows: pd.DataFrame,
    factors: Sequence[str],
    levels: Mapping[str, Sequence[str]],
) -> tuple[FloatArray, list[StepTerm]]:
    """Columns of all terms, those of work once for every level of every factor; and the term of each column.

    Levels of several factors add: a pair of levels that was never measured together can be predicted.

    Raises
    ------
    DataError
        A level that was never measured.
    """
    columns: list[FloatArray] = []
    of_column: list[StepTerm] = []
    codes = {name: coded(rows[name].astype(str).tolist(), levels[name], name) for name in factors}
    for term in terms:
        split = levels_of(term, factors, levels)
        for factor, level in split:
            columns.append(term.values(derived) * (codes[factor] == list(levels[factor]).index(level)))
        if not split:
            columns.append(term.values(derived))
        of_column += [term] * max(len(split), 1)
    return np.column_stack(columns), of_column


def levels_of(term: StepTerm, factors: Sequence[str], levels: Mapping[str, Sequence[str]]) -> tuple[tuple[str, str], ...]:
    """Factor and level of each column of a term: those of work have one for every level of every factor, others none."""
    return tuple((name, level) for name in factors for level in levels[name]) if term.component in WORK else ()


def part_labels(rows: pd.DataFrame, apart: Sequence[str]) -> list[str]:
    """Levels of the columns fitted apart, joined; empty names without any.

    Raises
    ------
    DataError
        A column is missing.
    """
    missing = [name for name in apart if name not in rows]
    if missing:
        raise DataError(f"has no column {missing[0]!r}, expected it: its levels were fitted by themselves", place="rows")
    if not apart:
        return [UNKNOWN] * len(rows)
    return [" | ".join(map(str, row)) for row in rows[list(apart)].itertuples(index=False)]


def coded(labels: Sequence[str], known: Sequence[str], what: str) -> IntArray:
    """Position of each label among the known ones.

    Raises
    ------
    DataError
        A label that was never measured.
    """
    places = {name: place for place, name in enumerate(known)}
    unknown = next((label for label in labels if label not in places), None)
    if unknown is not None:
        few = ", ".join(list(known)[:5])
        raise DataError(f"got {unknown!r} for {what}, which was never measured", place="rows", hint=f"Measured: {few}.")
    return np.array([places[label] for label in labels], int)
