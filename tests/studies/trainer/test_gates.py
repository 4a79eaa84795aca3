"""Gates on scores written down by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from mlperf.datasets.campaigns.trainer_runs import ALL_WAITED
from mlperf.studies.trainer.gates import gates_table, ranking_gates, score_gates, wait_gates
from mlperf.studies.trainer.limits import TrainerLimits
from mlperf.studies.trainer.protocols import KERNELS, LEFT_OUT, ONE

LIMITS = TrainerLimits(
    network_left_out={"epoch_s": 0.02},
    one_network={"epoch_s": 0.08},
    intervals={"least_coverage": 0.9, "most_coverage": 0.99, "half_widths": 3.0},
    ranking={"regret": 0.03},
)


def score(protocol: str, nodes: str = "all", coverage: float = 0.95, half_width: float = 0.05) -> dict[str, object]:
    errors = {"mean_error": 0.03, "median_error": 0.01, "coverage": coverage, "half_width": half_width}
    return {"protocol": protocol, "machine": "m", "method": "mlperf", "nodes": nodes, "quantity": "epoch_s"} | errors


def met(*scores: dict[str, object]) -> list[bool]:
    return gates_table(score_gates(pd.DataFrame(scores), LIMITS))["met"].tolist()


def test_networks_left_out_are_judged_by_the_mean_and_one_network_by_the_median() -> None:
    assert met(score(LEFT_OUT), score(ONE)) == [False, True]


def test_where_kernels_are_known_the_limits_are_asked_of_that_protocol() -> None:
    names = gates_table(score_gates(pd.DataFrame([score(LEFT_OUT), score(KERNELS)]), LIMITS))["gate"]
    assert [name.startswith(KERNELS) for name in names] == [True]


@pytest.mark.parametrize(
    ("coverage", "half_width", "expected"),
    [(0.95, 0.05, [True, True]), (0.8, 0.05, [False, True]), (1.0, 0.05, [False, True]), (0.95, 0.1, [True, False])],
)
def test_intervals_may_neither_miss_runs_nor_cover_all_nor_be_wide(
    coverage: float, half_width: float, expected: list[bool]
) -> None:
    assert met(score(LEFT_OUT, "4", coverage, half_width)) == expected


def test_the_largest_regret_counts() -> None:
    windows = pd.DataFrame({"protocol": ["p", "p"], "machine": ["m", "m"], "regret": [0.0, 0.04]})
    table = gates_table(ranking_gates(windows, LIMITS))
    assert (table["value"].tolist(), table["met"].tolist()) == ([0.04], [False])


def test_waits_are_judged_where_every_wait_is_emulated() -> None:
    rows = [
        {"machine": machine, "quantity": "barrier_wait_s", "form": form, "mean_error": error}
        for machine in (f"{ALL_WAITED} x5", "real")
        for form, error in (("paper", 0.03), ("phases", 0.01))
    ]
    table = gates_table(wait_gates(pd.DataFrame(rows)))
    assert (len(table), table["met"].all(), table["most"].tolist()) == (1, True, [0.03])
