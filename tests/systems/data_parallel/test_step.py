"""What every synchronous step has: refusals, the spread of a step, flags; the rest is tested with the systems."""

from __future__ import annotations

import time

import numpy as np
import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.systems.data_parallel.configuration import runnable, with_settings
from mlperf.systems.data_parallel.replicated import DATA_PARALLEL
from mlperf.systems.data_parallel.step import asked, step_spread_s
from mlperf.systems.registry import find_system

RUN = {"n_nodes": 2, "n_gpus_per_node": 1, "subbatch_size": 4, "dataset_size": 100}


def test_what_is_computed_cannot_be_given() -> None:
    for name in ("straggler", "step", "recomputation"):
        with pytest.raises(UsageError, match=f"got a time of '{name}', which the system 'data-parallel' computes"):
            asked(DATA_PARALLEL, {"forward": np.array(1.0), name: np.array(1.0)}, RUN)
    with pytest.raises(DataError, match=r"system 'data-parallel': got .*accumulation 1.5"):
        asked(DATA_PARALLEL, {"forward": np.array(1.0)}, {**RUN, "accumulation": 1.5})


def test_spreads_of_passes_add_up_as_draws_do() -> None:
    """The standard deviation of a sum of 4 sub-batches, drawn anew each, and of one optimizer step."""
    given = {"forward": 1.0, "forward_std": 0.03, "backward": 2.0, "backward_std": 0.04, "optimizer": 0.5, "optimizer_std": 0.1}
    question = asked(DATA_PARALLEL, {name: np.array(value) for name, value in given.items()}, RUN)
    rng = np.random.default_rng(0)
    drawn = (rng.standard_normal((200_000, 4)) * 0.03 + rng.standard_normal((200_000, 4)) * 0.04).sum(axis=1)
    drawn += 0.1 * rng.standard_normal(200_000)
    assert float(step_spread_s(question, np.array(4.0))) == pytest.approx(drawn.std(), rel=0.01)
    whole = asked(DATA_PARALLEL, {**{name: np.array(value) for name, value in given.items()}, "step_std": np.array(0.7)}, RUN)
    assert float(step_spread_s(whole, np.array(4.0))) == 0.7


@pytest.mark.slow
@pytest.mark.parametrize("name", ["data-parallel", "fully-sharded", "pipeline"])
def test_a_million_configurations_take_seconds(name: str) -> None:
    """Every column and time differs from row to row."""
    rng, n = np.random.default_rng(0), 1_000_000
    system = find_system(name)
    run = {
        "n_nodes": 2.0 ** rng.integers(2, 7, n),
        "n_gpus_per_node": 8.0,
        "subbatch_size": rng.integers(1, 65, n),
        "dataset_size": 1e6,
    }
    run |= {"gradient_bytes": 1e9, "boundary_bytes": 1e7, "latency_s": 2e-5, "bandwidth_bytes_per_s": 25e9}
    run |= {"local_latency_s": 1e-5, "local_bandwidth_bytes_per_s": 2e11, "n_layers": rng.integers(8, 97, n)}
    run |= {"stages": 2.0 ** rng.integers(0, 4, n), "micro_batches": rng.integers(1, 65, n)} if name == "pipeline" else {}
    times = {part: 0.1 + rng.random(n) for part in ("input", "forward", "backward", "optimizer")} | {
        "step_std": 0.01 * rng.random(n)
    }
    start = time.perf_counter()
    fine = runnable(with_settings(system, run))
    found = system.solve(times, run)
    assert time.perf_counter() - start < 15.0
    assert fine.all()
    total = np.sum(list(found.breakdown_s["step"].values()), axis=0)
    np.testing.assert_allclose(total, found.outputs["step_s"], rtol=1e-12)
