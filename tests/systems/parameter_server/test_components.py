"""What queue and clocks see of component times."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.systems.base.system import checked_run, checked_times
from mlperf.systems.parameter_server.asynchronous import PARAMETER_SERVER
from mlperf.systems.parameter_server.components import server_loads
from mlperf.systems.registry import find_system

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


@pytest.mark.parametrize("name", ["parameter-server", "stale-synchronous"])
@pytest.mark.parametrize("column", ["subbatch_size", "dataset_size", "n_nodes", "n_servers", "staleness_bound"])
def test_every_array_has_one_shape_whichever_column_varies(name: str, column: str) -> None:
    """Draws of component times lead."""
    run = {**RUN, column: np.array([1, 2, 3])}
    found = find_system(name).solve({"compute": np.array([[1.0], [2.0]]), "push": 0.1}, run)
    parts = [
        *found.outputs.values(),
        *found.flags.values(),
        *(each for part in found.breakdown_s.values() for each in part.values()),
    ]
    assert {np.shape(part) for part in parts} == {(2, 3)}
    assert tuple(found.outputs) == find_system(name).outputs


def test_more_slow_workers_than_workers() -> None:
    times = checked_times(PARAMETER_SERVER, {"compute": 1.0})
    with pytest.raises(DataError, match="got 9 slow workers among 8"):
        server_loads(times, checked_run(PARAMETER_SERVER, {**RUN, "n_slow_workers": np.array([0, 9])}))
