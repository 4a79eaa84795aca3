"""A whole run as a table and as JSON: what was asked for is there, what was not is absent."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from mlperf.models.uncertainty.intervals import Interval
from mlperf.planning.whole_run.epoch_times import EpochTimes
from mlperf.planning.whole_run.whole_run import WholeRunOptions, whole_run
from mlperf.specs.machine import MachineSpec


def test_a_row_a_configuration_with_what_was_asked_for() -> None:
    nodes = np.array([1, 2])
    times = EpochTimes(
        pd.DataFrame({"n_nodes": nodes}),
        np.array([7200.0, 3600.0]),
        Interval(np.array([7200.0, 3600.0]), np.array([7200.0, 3600.0]), 0.95),
        nodes,
        nodes,
        nodes,
        np.array([True, False]),
    )
    machine = MachineSpec(name="box", max_nodes=2, n_gpus_per_node=1)
    found = whole_run(times, machine, options=WholeRunOptions(epochs=24, deadline_s=86400.0))
    frame = found.to_frame()
    assert frame["on_time_share"].tolist() == [0.0, 1.0]
    assert frame["in_domain"].tolist() == [True, False]
    assert "cost" not in frame
    assert found.slurm_lines == ("#SBATCH --time=2-00:00:00", "#SBATCH --time=1-00:00:00")
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["cost"] is None
    assert document["checkpoint_every_s"] == ["Inf", "Inf"]
    assert document["total"]["median"] == [172800.0, 86400.0]
    assert "on_time_share" not in whole_run(times, machine).to_frame()
