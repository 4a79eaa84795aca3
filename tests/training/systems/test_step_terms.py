"""Terms that rows cannot tell apart are left out, each with its reason."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlperf.training.systems.step_columns import derived_columns, step_columns
from mlperf.training.systems.step_terms import ALL, STEP_TERMS, components, proportional, terms_of


def derived(**columns: object) -> dict:
    return derived_columns(step_columns(pd.DataFrame(columns)))


def test_every_column_of_the_table_can_be_worked_out() -> None:
    rows = {"n_gpus": [16, 32], "n_nodes": [2, 4], "subbatch_size": [1, 2], "n_params": 10, "n_layers": 2, "width": 4}
    known = derived(**rows)
    assert {term.column for term in STEP_TERMS} <= known.keys()
    for system in ALL:
        columns = [term.column for term in STEP_TERMS if system in term.systems]
        assert len(set(columns)) == len(columns), system


def test_what_is_absent_zero_or_alike_is_named() -> None:
    kept, left = terms_of("data-parallel", derived(n_gpus=[1, 2, 4], n_gpus_per_node=4, subbatch_size=8))
    names = [term.column for term in kept]
    assert names[0] == "tokens"
    assert left["work"] == "the table has no column that it needs"
    assert left["across"] == "0 in every row"
    assert left["steps"] == "proportional to tokens"
    assert set(names) & set(left) == set()
    assert components(kept) == ("compute", "exchange")


def test_a_known_vector_takes_the_place_of_an_unknown_one() -> None:
    rows = {"n_gpus": [1, 2, 4, 8], "n_gpus_per_node": 8, "subbatch_size": [8, 16, 8, 16], "n_params": [10, 20, 30, 50]}
    kept, left = terms_of("data-parallel", derived(**rows))
    assert "gradients_inside" in [term.column for term in kept]
    assert left["ring_gpus"] == "gradients_inside says it better"


def test_proportional_is_exact_however_small_the_numbers() -> None:
    one = np.array([1e-15, 2e-15, 0.0])
    assert proportional(one, 1e30 * one)
    assert not proportional(one, np.array([1.0, 2.001, 0.0]))
    assert not proportional(one, np.array([1.0, 2.0, 1.0]))
