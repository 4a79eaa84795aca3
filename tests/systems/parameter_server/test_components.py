"""What queue and clocks see of component times."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.systems.base.system import checked_run, checked_times
from mlperf.systems.parameter_server.asynchronous import PARAMETER_SERVER
from mlperf.systems.parameter_server.components import server_loads

RUN = {"n_nodes": 2, "n_gpus_per_node": 4, "subbatch_size": 16, "dataset_size": 1000}


def test_servers_share_a_gradient_and_slow_gpus_compute_longer() -> None:
    times = checked_times(
        PARAMETER_SERVER, {"compute": 1.0, "pull": 0.2, "push": 0.3, "apply": 0.1, "push_std": 0.04, "apply_std": 0.03}
    )
    loads = server_loads(
        times, checked_run(PARAMETER_SERVER, {**RUN, "n_servers": [1, 4], "n_slow_workers": 3, "slow_factor": 2.0})
    )
    assert loads.n_workers.tolist() == [8.0, 8.0]
    assert loads.service_s == pytest.approx([0.4, 0.1])
    assert loads.service_scv == pytest.approx([0.05**2 / 0.4**2] * 2)
    assert loads.work_s == pytest.approx([1.2, 1.2])
    assert loads.slow_work_s == pytest.approx([2.2, 2.2])


def test_more_slow_workers_than_workers() -> None:
    times = checked_times(PARAMETER_SERVER, {"compute": 1.0})
    with pytest.raises(DataError, match="got 9 slow workers among 8"):
        server_loads(times, checked_run(PARAMETER_SERVER, {**RUN, "n_slow_workers": np.array([0, 9])}))
