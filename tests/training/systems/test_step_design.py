"""Columns of a design: work by the levels of factors, and parts that are told by their labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.training.systems.step_columns import derived_columns, step_columns
from mlperf.training.systems.step_design import WORK, coded, design_matrix, levels_of, part_labels
from mlperf.training.systems.step_terms import terms_of

ROWS = pd.DataFrame(
    {"n_gpus": [1, 2, 4, 2], "subbatch_size": [8, 8, 16, 32], "card": ["a", "b", "a", "b"], "n_params": [10.0, 20.0, 40.0, 80.0]}
)
LEVELS = {"card": ("a", "b")}


def test_work_has_a_column_for_every_level_and_other_terms_one() -> None:
    derived = derived_columns(step_columns(ROWS))
    terms, _ = terms_of("data-parallel", derived)
    design, of_column = design_matrix(terms, derived, ROWS, ("card",), LEVELS)
    work = [number for number, term in enumerate(of_column) if term.component in WORK]
    assert [levels_of(of_column[number], ("card",), LEVELS) for number in work[:2]] == [(("card", "a"), ("card", "b"))] * 2
    assert len(of_column) == design.shape[1] == len(terms) + len(work) // 2
    plain, _ = design_matrix(terms, derived, ROWS, (), {})
    assert design[:, work[:2]].sum(axis=1) == pytest.approx(plain[:, terms.index(of_column[work[0]])])
    assert np.flatnonzero(design[:, work[0]]).tolist() == [0, 2]


def test_parts_are_told_by_their_labels() -> None:
    labels = part_labels(ROWS, ("card", "n_gpus"))
    assert labels == ["a | 1", "b | 2", "a | 4", "b | 2"]
    assert coded(labels, ("b | 2", "a | 1", "a | 4"), "card").tolist() == [1, 0, 2, 0]
    assert part_labels(ROWS, ()) == [""] * 4
    with pytest.raises(DataError, match=r"'a \| 4' for card, which was never measured"):
        coded(labels, ("a | 1", "b | 2"), "card")
    with pytest.raises(DataError, match="has no column 'host'"):
        part_labels(ROWS, ("host",))
