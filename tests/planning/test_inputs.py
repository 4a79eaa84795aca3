"""Configurations are every combination, the last axis fastest; some of them read what all of them read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from mlperf.planning.inputs import configuration_inputs, configurations
from mlperf.specs import load_cnn, load_machine


def test_every_combination_stands_once_the_last_axis_fastest() -> None:
    found = configurations(range(2), (1, 4), 8, [2, 3], 1000)
    assert found.to_numpy().tolist() == [[cnn, nodes, 8, size, 1000] for cnn in (0, 1) for nodes in (1, 4) for size in (2, 3)]


def test_some_configurations_read_what_they_would_alone(small_model: Any) -> None:
    cnns, machine = [load_cnn("alexnet"), load_cnn("resnet18")], load_machine("cpu-cluster")
    configs = configurations(range(2), [1, 4], [1, 2], [1, 2], 60_000)
    rows = np.array([13, 2, 7])
    taken = configuration_inputs(small_model, cnns, machine, configs).take(rows)
    alone = configuration_inputs(small_model, cnns, machine, configs.iloc[rows])
    pd.testing.assert_frame_equal(taken.columns, alone.columns)
    pd.testing.assert_frame_equal(taken.steps.calls, alone.steps.calls, check_dtype=False)
    assert taken.run.subbatch_size.tolist() == configs["subbatch_size"].iloc[rows].tolist()
