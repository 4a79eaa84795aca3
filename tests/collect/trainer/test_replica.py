"""A replica of the weights."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.collect.cnn_engine.engine import training_step
from mlperf.collect.trainer.replica import step_replica
from mlperf.specs import CnnSpec, Layer


def test_a_replica_holds_every_parameter_of_a_network_with_batch_norm() -> None:
    layers = (
        Layer("conv1", "conv", n_maps=4, filter_size=(3, 3), bias=False),
        Layer("norm1", "batch_norm"),
        Layer("relu1", "activation", function="relu"),
        Layer("fc1", "fc", n_maps=5),
    )
    cnn = CnnSpec("normed", 3, (6, 6), layers)
    step = training_step(cnn, 2, seed=1)
    replica = step_replica(step)
    assert replica.update.size == cnn.n_params
    replica.fetch(np.arange(cnn.n_params, dtype=np.float32))
    assert replica.weights() == pytest.approx(np.arange(cnn.n_params))
    assert step.parameters["fc1"]["bias"].max() < cnn.n_params
