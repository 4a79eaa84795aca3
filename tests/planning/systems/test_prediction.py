"""A prediction names what takes most of the time, and its table has every output with bounds."""

from __future__ import annotations

from typing import Any

import pytest

import mlperf
from mlperf.specs import JobSpec

pytestmark = pytest.mark.slow


@pytest.fixture
def prediction(small_model: Any) -> Any:
    job = JobSpec(dataset_size=60_000, subbatch_size=2, n_nodes=2, epochs=3)
    return mlperf.predict_system(small_model, "sprint", ["alexnet", "resnet18"], "cpu-cluster", job, n_draws=20)


def test_the_bottleneck_is_the_largest_share(prediction: Any) -> None:
    for index in range(2):
        table = prediction.breakdown(index)
        assert prediction.bottleneck(index) == table.sort_values("share")["component"].iloc[-1]
        assert table.groupby("activity")["share"].sum().tolist() == pytest.approx([1.0, 1.0])


def test_every_output_has_its_bounds(prediction: Any) -> None:
    frame = prediction.to_frame()
    assert frame["cnn"].tolist() == ["alexnet", "resnet18"]
    for name in prediction.outputs:
        assert (frame[f"{name}_run_lower"] <= frame[name]).all()
        assert (frame[name] <= frame[f"{name}_run_upper"]).all()
    assert (prediction.total_s == 3 * prediction.epoch_s).all()
