"""Terms that rows cannot tell apart are left out, each with its reason."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.training.systems.step_columns import derived_columns, step_columns
from mlperf.training.systems.step_terms import ALL, ONCE, PASS, STEP_TERMS, components, proportional, terms_of


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
    assert left["work"] == "needs n_params"
    assert left["attention"] == "needs n_layers and width"
    assert left["across"] == "0 in every row"
    assert left["steps"] == "proportional to tokens"
    assert set(names) & set(left) == set()
    assert components(kept) == ("compute", "exchange")


def test_a_known_vector_takes_the_place_of_an_unknown_one() -> None:
    rows = {"n_gpus": [1, 2, 4, 8], "n_gpus_per_node": 8, "subbatch_size": [8, 16, 8, 16], "n_params": [10, 20, 30, 50]}
    kept, left = terms_of("data-parallel", derived(**rows))
    assert "gradients_inside" in [term.column for term in kept]
    assert left["ring_gpus"] == "gradients_inside says it better"


def test_forms_that_few_counts_cannot_tell_stay_side_by_side() -> None:
    """Of 1 and 2 GPUs a ring and a doubling are one column; fixed costs of a count alone are another of its exchange's."""
    kept, left = terms_of("data-parallel", derived(n_gpus=[1, 2], n_gpus_per_node=4, subbatch_size=[8, 16]))
    assert {"ring_gpus", "gpus_inside"} <= {term.column for term in kept}
    assert left["steps"] == "proportional to micro_steps"
    kept, left = terms_of("data-parallel", derived(n_gpus=[2, 2], n_gpus_per_node=4, subbatch_size=[8, 16]))
    assert {"ring_gpus", "gpus_inside", "micro_steps"} <= {term.column for term in kept}
    kept, left = terms_of("data-parallel", derived(n_gpus=[2, 2], n_gpus_per_node=4, subbatch_size=8))
    assert left["ring_gpus"] == "proportional to tokens"


def test_proportional_is_exact_however_small_the_numbers() -> None:
    one = np.array([1e-15, 2e-15, 0.0])
    assert proportional(one, 1e30 * one)
    assert not proportional(one, np.array([1.0, 2.001, 0.0]))
    assert not proportional(one, np.array([1.0, 2.0, 1.0]))


def test_passes_are_paid_again_while_a_pipeline_fills_and_drains() -> None:
    """4 stages and 6 micro-batches: 9 slots in place of 6 (GPipe, section 2.3); what is paid once is not."""
    columns = derived(n_gpus=[4], n_gpus_per_node=4, pipeline_parallel=4, accumulation=6, subbatch_size=2, n_params=12)
    by_name = {term.column: term for term in STEP_TERMS if "pipeline" in term.systems}
    assert by_name["work"].values(columns) == pytest.approx(columns["work"] * 9 / 6)
    assert by_name["micro_steps"].values(columns) == pytest.approx([9.0])
    assert by_name["own_params"].values(columns) == columns["own_params"]
    assert {term.paid for term in STEP_TERMS} == {PASS, ONCE}


def test_the_bubble_is_told_after_what_a_device_computes() -> None:
    kept, _ = terms_of("pipeline", derived(n_gpus=[4, 8], pipeline_parallel=[2, 4], accumulation=2, subbatch_size=1, n_params=9))
    assert components(kept, bubble=True)[:2] == ("compute", "bubble")
    assert "bubble" not in components(kept)
