"""A figure of the machine's specification is an assumption until it is mostly measured."""

from __future__ import annotations

import pandas as pd
import pytest

from mlperf.planning.calibration.sources import CALIBRATED_WHY, calibrated_reasons, calibrated_sources
from mlperf.planning.outside import ASSUMED_WHY


def factors(**shares: float) -> pd.DataFrame:
    return pd.DataFrame({"component": list(shares), "measured_share": list(shares.values())})


SOURCE = {"forward": "model", "exchange": "assumed", "optimizer": "assumed", "overhead": "not measured, counted as 0"}


@pytest.mark.parametrize(
    ("shares", "calibrated"),
    [
        ({"network": 0.9}, {"exchange"}),
        ({"exchange": 0.9}, {"exchange"}),
        ({"network": 0.3}, set()),
        ({"optimizer": 0.9}, {"optimizer"}),  # worked out of measured passes: the network says nothing of it
        ({"forward": 0.9}, set()),
        ({}, set()),
    ],
)
def test_only_what_was_assumed_and_is_mostly_measured_is_calibrated(shares: dict[str, float], calibrated: set[str]) -> None:
    found = calibrated_sources(SOURCE, factors(**shares))
    assert {name for name, where in found.items() if where == "calibrated"} == calibrated
    assert all(found[name] == SOURCE[name] for name in SOURCE if name not in calibrated)


def test_its_reason_no_longer_says_that_nobody_measured_it() -> None:
    reasons = pd.DataFrame(
        {"component": ["exchange", "input"], "why": [f"exchange: {ASSUMED_WHY}", "input: subbatch_size = 64, measured 1 to 16"]}
    )
    told = calibrated_reasons(reasons, {"exchange": "calibrated", "input": "model"})
    assert told is not None
    assert told["why"].tolist() == [f"exchange: {CALIBRATED_WHY}", reasons["why"].iloc[1]]
    assert calibrated_reasons(None, {}) is None
