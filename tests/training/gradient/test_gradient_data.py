"""Which of a step's times training waits for: on a host its own, on a device that in the stream, as far as it was measured."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.datasets import read_campaign
from mlperf.training.gradient.gradient_data import gradient_data, waited_steps
from mlperf.training.training import fit_sgemm

STEPS = pd.DataFrame({"step_s": [1.0, 2.0], "cpu_s": [1.0, 2.0], "wall_s": [3.0, np.nan]})
APART = pd.DataFrame({"cpu_s": [0.1, 0.2], "wall_s": [0.3, np.nan]})


def test_a_host_waits_for_its_own_time() -> None:
    found = waited_steps(STEPS, APART, "torch")
    assert found["step_s"].tolist() == [1.0, 2.0]
    assert found["busy_s"].isna().all()


def test_a_device_is_waited_for_in_the_stream_where_that_was_measured() -> None:
    found = waited_steps(STEPS, APART, "cuda")
    assert found[["step_s", "busy_s"]].to_numpy().tolist() == [[3.0, 1.0], [2.0, 2.0]]


@pytest.mark.parametrize("wall", [[0.1, 0.2], [np.nan, np.nan]])
def test_kernels_that_hold_their_gaps_tell_no_busy_time(wall: list[float]) -> None:
    found = waited_steps(STEPS, APART.assign(wall_s=wall), "cuda-library")
    assert found["step_s"].tolist() == [3.0, 2.0]
    assert found["busy_s"].isna().all()


@pytest.mark.slow
def test_a_campaign_of_a_device_and_one_of_a_host() -> None:
    """Medians over rounds of the two clocks; launching is learnt on the device alone."""
    campaign = read_campaign("gpu-h100-layers")
    found = gradient_data(campaign, fit_sgemm(campaign))
    steps = campaign.table("steps").groupby(["cnn", "subbatch_size"])[["wall_s", "cpu_s"]].median()
    own = found.steps.set_index(["cnn", "subbatch_size"])
    assert np.allclose(own["step_s"], steps["wall_s"].loc[own.index])
    assert np.allclose(own["busy_s"], steps["cpu_s"].loc[own.index])
    assert found.launches is not None
    assert found.launches.launch_s > 0.0
    assert found.only(["cnn00", "res00"]).launches != found.launches
    host = gradient_data(read_campaign("cpu-xeon-torch"), None)
    assert host.launches is None
    assert host.steps["busy_s"].isna().all()
