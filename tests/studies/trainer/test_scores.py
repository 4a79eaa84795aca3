"""Scores of rows whose errors are written down by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from mlperf.studies.trainer.scores import score_table


def row(trained_on: str, cnn: str, error: float, inside: float = 1.0, n_nodes: int = 1) -> dict[str, object]:
    key = {"protocol": "p", "machine": "m", "trained_on": trained_on, "method": "mlperf", "quantity": "epoch_s", "cnn": cnn}
    bounds = {"predicted": 100.0, "lower": 90.0, "upper": 130.0, "inside": inside}
    return key | bounds | {"n_nodes": n_nodes, "relative_error": error}


def test_networks_weigh_alike_and_so_do_trainings() -> None:
    """Trained on a: b errs by 10 % in three settings, c by 30 % in one: 20 %. On b by 2, on c by 3 %: the mean is 25/3 %."""
    rows = [*[row("a", "b", -0.1)] * 3, row("a", "c", 0.3), row("b", "c", 0.02), row("c", "b", 0.03)]
    found = score_table(pd.DataFrame(rows)).set_index("nodes").loc["all"]
    assert found["n"] == 6
    assert found["mean_error"] == pytest.approx(0.25 / 3)
    assert found["median_error"] == pytest.approx(0.03)
    assert found["max_error"] == pytest.approx(0.3)
    assert found["half_width"] == pytest.approx(0.2)


def test_coverage_is_told_by_number_of_nodes() -> None:
    rows = [row("a", "b", 0.1, inside=1.0, n_nodes=1), row("a", "b", 0.1, inside=0.5, n_nodes=4)]
    found = score_table(pd.DataFrame(rows)).set_index("nodes")["coverage"]
    assert found.to_dict() == {"all": 0.75, "1": 1.0, "4": 0.5}
