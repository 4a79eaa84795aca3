"""The table of components against Tables 3 and 4 and Algorithms 1 and 2 of the SPRINT paper, copied from its print."""

from __future__ import annotations

from itertools import pairwise

import pytest

from mlperf.systems.sprint.components import (
    BY_NAME,
    COMPONENTS,
    FITTED,
    GPU_PARTS,
    IMAGE_OPERATIONS,
    LOCK_WAITS,
    SHARE_OPERATIONS,
    UPDATE_PARTS,
    VECTOR_OPERATIONS,
)

# Name in the paper, first line of the algorithm, what the model is linear in beside the constant; "wait" by eq. 7.
TABLE_3 = (
    ("LockWeights_G", 2, "wait"),
    ("FetchWeights", 3, "N_Param"),
    ("LoadImage", 7, "N_Subbatch"),
    ("DeformImage", 8, "N_Subbatch"),
    ("ComputeGradient", 9, "equation 4"),
    ("ComputeUpdateVal", 10, "N_Param"),
    ("LockGradient_G", 11, "wait"),
    ("UpdateGradient", 12, "N_Param"),
)
TABLE_4 = (
    ("LockGradient_U", 3, "wait"),
    ("SumGradient", 4, "N_Param"),
    ("UpdateOldWeights", 15, "N_Param / N_Node"),
    ("AddMomentum", 16, "N_Param / N_Node"),
    ("Allreduce", 17, "barrier, log2(N_Node) N_Param, N_Param"),
    ("UpdateMomentum", 18, "N_Param / N_Node"),
    ("LockWeights_U", 19, "wait"),
    ("UpdateWeights", 20, "N_Param"),
)
TERMS = {
    "wait": (),
    "N_Param": ("n_params",),
    "N_Subbatch": ("subbatch_size",),
    "equation 4": ("kernels_s",),
    "N_Param / N_Node": ("params_share",),
    "barrier, log2(N_Node) N_Param, N_Param": ("n_params * barrier_buffers", "n_params * log2(n_nodes)", "n_params"),
}
# Lines between "acquire" and "release" of a mutex: 2 to 6 and 11 to 17 of Algorithm 1, 3 to 13 and 19 to 21 of Algorithm 2.
HOLDS = {"FetchWeights": "weights", "UpdateGradient": "gradient", "SumGradient": "gradient", "UpdateWeights": "weights"}


def printed(name: str) -> str:
    """The paper's name of one of ours: ``LockWeights_G`` of ``lock_weights_gpu``."""
    words = "".join(word.capitalize() for word in name.split("_"))
    for ours, theirs in (
        ("ComputeUpdateValue", "ComputeUpdateVal"),
        ("LockWeights", "LockWeights_"),
        ("LockGradient", "LockGradient_"),
    ):
        words = words.replace(ours, theirs)
    return words.replace("_Gpu", "_G").replace("_Update", "_U")


@pytest.mark.parametrize(("parts", "table"), [(GPU_PARTS, TABLE_3), (UPDATE_PARTS, TABLE_4)], ids=["GPU", "update"])
def test_the_parts_of_a_thread_are_those_of_the_paper_in_the_order_of_its_algorithm(parts: tuple[str, ...], table) -> None:
    assert [printed(name) for name in parts] == [name for name, _, _ in table]
    lines = [line for _, line, _ in table]
    assert lines == sorted(lines)
    assert [BY_NAME[name].paper for name in parts] == [TERMS[model] for _, _, model in table]


def test_a_part_that_holds_a_mutex_stands_behind_the_wait_for_it() -> None:
    held = {printed(each.name): each.lock for each in COMPONENTS if each.kind == "critical"}
    assert held == HOLDS
    for before, after in pairwise(COMPONENTS):
        if after.kind == "critical":
            assert (before.kind, before.lock, before.activity) == ("coupling", after.lock, after.activity)


def test_waits_are_computed_and_everything_else_is_fitted() -> None:
    assert {printed(name) for name in LOCK_WAITS} == {name for name, _, model in (*TABLE_3, *TABLE_4) if model == "wait"}
    assert len(FITTED) == len(TABLE_3) + len(TABLE_4) - len(LOCK_WAITS)
    assert all(each.terms for each in FITTED)


def test_operations_are_grouped_by_what_they_run_over() -> None:
    for names, model in ((IMAGE_OPERATIONS, "N_Subbatch"), (VECTOR_OPERATIONS, "N_Param"), (SHARE_OPERATIONS, "N_Param / N_Node")):
        assert [printed(name) for name in names] == [name for name, _, linear in (*TABLE_3, *TABLE_4) if linear == model]


def test_the_paper_s_terms_win_ties() -> None:
    for each in COMPONENTS:
        assert each.terms[: len(each.paper)] == each.paper
        assert each.column == f"{each.name}_s"
