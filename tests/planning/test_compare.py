"""Comparisons with a campaign: predictions of its steps as a prediction gives them, errors as ratios, unknown methods refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mlperf
from mlperf.core.errors import DataError, UsageError
from mlperf.specs import JobSpec, load_machine


@pytest.mark.slow
def test_a_compared_step_is_the_gradient_of_a_predicted_epoch(small_model: Any, small_campaign: Path) -> None:
    found = mlperf.compare_runs(small_model, small_campaign, cnns=["res03"])
    row = found.table.iloc[0]
    cnn = mlperf.read_campaign(small_campaign).cnns["res03"]
    job = JobSpec(dataset_size=60_000, subbatch_size=int(row["subbatch_size"]))
    epoch = mlperf.predict_epoch(small_model, cnn, load_machine("cpu-cluster"), job)
    assert row["predicted"] == pytest.approx(epoch.gpu_breakdown_s["compute_gradient"][0], rel=1e-12)
    assert row["lower"] < row["predicted"] < row["upper"]
    assert not found.table["in_training"].any()
    assert row["relative_error"] == pytest.approx(row["predicted"] / row["measured"] - 1.0)
    assert found.coverage["step_s"] == found.table["inside"].mean()


def test_what_cannot_be_compared_is_refused(small_model: Any, small_campaign: Path) -> None:
    with pytest.raises(UsageError, match="got method 'lerant'"):
        mlperf.compare_runs(small_model, small_campaign, method="lerant")
    with pytest.raises(DataError, match="no measured row of those CNNs"):
        mlperf.compare_runs(small_model, small_campaign, cnns=["vgg19"])
