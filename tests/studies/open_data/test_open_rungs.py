"""Goals of the ladder on the open measurements, as far as they are quick; ``mlperf accuracy`` runs all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlperf.studies.open_data import RUNGS
from mlperf.studies.open_data.coverage import (
    CARDS,
    EPOCHS,
    ITERATIONS,
    climb_iterations,
    climb_systems,
    interval_goals,
    layer_trial,
)
from mlperf.studies.open_data.forms import ratio
from mlperf.studies.open_data.layers import STEP
from mlperf.studies.open_data.result import Goal
from mlperf.studies.open_data.trial import Method, score

#         rung   device
QUICK = [
    ("A2", "A100"),
    ("A5", "A100"),
    ("A7", "K40"),
    ("A8", "1080Ti"),
    ("A9", "TitanX"),
    ("A10", "TITAN RTX"),
    ("B1", "Titan X"),
    ("B2", "training"),
    ("D3", "K80"),
    ("D3", "P100"),
]


def missed(goals: list[Goal] | tuple[Goal, ...]) -> list[str]:
    """Goals that were not reached, with what was."""
    return [f"{goal.rung} {goal.device} {goal.what}: {goal.value:.4f}" for goal in goals if not goal.met]


@pytest.mark.parametrize(("rung", "device"), QUICK)
def test_goals_are_met(shared_data: Path, rung: str, device: str) -> None:
    climbed = RUNGS[rung].climb(device, shared_data)
    assert climbed.goals
    assert missed(climbed.goals) == []


def test_baselines_are_the_published_ones(shared_data: Path) -> None:
    """The protocol is that of the published figures only if the plain methods reach the same ones."""
    found = {one.method: one for one in RUNGS["A2"].climb("V100", shared_data).scores}
    for method, mape in (("OLS", 6.1), ("WLS", 6.2), ("HGB", 57.8)):
        assert 100 * found[method].mape == pytest.approx(mape, abs=0.06)
    found = {one.part: one for one in RUNGS["B2"].climb("inference", shared_data).scores}
    assert [100 * one.mape for one in found.values()] == pytest.approx([5.1, 7.5], abs=0.06)


def test_selection_of_collinear_features_reproduces_the_criterion(shared_data: Path) -> None:
    """R's step keeps FLOPs and tensors at AIC -131.08 (K80) and -165.92 (P100)."""
    for device, criterion in (("K80", "-131.08"), ("P100", "-165.92")):
        (note, *_) = RUNGS["D3"].climb(device, shared_data).notes
        assert f"AIC {criterion}" in note
        assert "0.9999" in note


def test_whole_networks_err_more_than_layers_do(shared_data: Path) -> None:
    """Multiply-accumulates and depth leave about 10 % on average; a published fit without GoogLeNet has 9.4 %."""
    weighted = RUNGS["B3"].climb("without GoogLeNet", shared_data).scores[1]
    assert weighted.n_test == 105
    assert 100 * weighted.mape == pytest.approx(9.4, abs=0.2)


@pytest.mark.parametrize("card", CARDS)
def test_intervals_of_convolution_layers(shared_data: Path, card: str) -> None:
    """Ten folds: 92 to 98 % of the left-out layers inside, the median half-width at most three times the MAPE."""
    found = score(Method("ratio", "default", lambda: ratio(STEP)), layer_trial(card, shared_data))
    assert 0.92 <= found.coverage <= 0.98
    assert found.half_width <= 3.0 * found.mape


@pytest.mark.parametrize(("subject", "climb"), [(EPOCHS, climb_systems), (ITERATIONS, climb_iterations)])
def test_intervals_of_composed_times(shared_data: Path, subject: str, climb: object) -> None:
    """A submitter, a model size left out: 92 to 98 % inside, the median half-width at most three times the MAPE."""
    (default, *_) = climb(subject, shared_data).scores  # type: ignore[operator]
    assert 0.92 <= default.coverage <= 0.98
    assert missed(interval_goals(default)) == []
    assert np.isfinite(default.in_domain)
