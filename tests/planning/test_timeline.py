"""The threads of a predicted configuration: all of them, for about forty updates of the length that the equations give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlperf
from mlperf.core.errors import UsageError
from mlperf.planning import PredictionOptions, simulated_configuration
from mlperf.specs import JobSpec, load_cnn, load_machine
from mlperf.traces.timeline.lanes import UPDATE


def test_a_predicted_configuration_has_all_its_threads(small_model: Any) -> None:
    cnn = load_cnn("alexnet")
    machine, job = load_machine("cpu-cluster"), JobSpec(dataset_size=10_000)
    prediction = mlperf.predict_epoch(small_model, cnn, machine, job, n_nodes=2, subbatch_size=4)
    timeline = simulated_configuration(small_model, prediction, [cnn], machine, PredictionOptions(seed=1))
    assert timeline.lanes == [(0, 0), (0, 1), (0, UPDATE), (1, 0), (1, 1), (1, UPDATE)]
    published = timeline.intervals[timeline.intervals["activity"] == "update_weights"].groupby("node").size()
    assert (published >= 20).all()
    mean_s = timeline.intervals.loc[timeline.intervals["thread"] == UPDATE].groupby("node")["end_s"].max() / published
    assert np.allclose(mean_s, prediction.update_iteration_s[0], rtol=0.2)
    several = mlperf.predict_epoch(small_model, cnn, machine, job, n_nodes=[1, 2], subbatch_size=4)
    with pytest.raises(UsageError, match="2 configurations"):
        simulated_configuration(small_model, several, [cnn], machine, PredictionOptions())
