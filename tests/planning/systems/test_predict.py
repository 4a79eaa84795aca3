"""Any system is asked with the times of a campaign: SPRINT exactly as `predict_epoch`, a system of one's own as its guide says."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.core.errors import DataError, DomainError, UsageError
from mlperf.planning.systems.predict import breakdown_of, solved
from mlperf.specs import JobSpec, load_machine
from mlperf.systems.base.collectives import ring_s
from mlperf.systems.base.system import Solution
from mlperf.systems.sprint.system import SPRINT, SprintSystem
from mlperf.training.collectives.train_exchange import train_exchange

pytestmark = pytest.mark.slow

JOB = JobSpec(dataset_size=60_000, subbatch_size=2, n_nodes=4)
GUIDE = Path(__file__).parents[3] / "docs" / "how-to" / "own_system.md"


def guide_code() -> str:
    return re.search(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)[1]


@pytest.fixture
def own_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "local_sgd.py").write_text(guide_code(), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return "local_sgd:LOCAL_SGD"


def test_the_guides_example_has_at_most_forty_lines() -> None:
    lines = [line for line in guide_code().splitlines() if line.strip()]
    assert len(lines) <= 40


def test_sprint_as_a_system_predicts_what_predict_epoch_does(small_model: Any) -> None:
    asked = ("alexnet", load_machine("cpu-cluster"), JOB)
    own = mlperf.predict_epoch(small_model, *asked, n_nodes=[1, 2, 4], n_draws=20)
    found = mlperf.predict_system(small_model, "sprint", *asked, n_nodes=[1, 2, 4], n_draws=20)
    for name in ("epoch_s", "mean_minibatch_size", "gpu_iteration_s", "update_iteration_s", "mean_staleness"):
        np.testing.assert_array_equal(found.outputs[name], getattr(own, name))
    for name in own.source:
        assert found.source[name] == own.source[name], name
        np.testing.assert_array_equal(found.in_domain[name], own.in_domain[name])


def test_the_guides_system_adds_up(small_model: Any, own_system: str) -> None:
    """A round is k times the steps that were measured, and one ring."""
    machine = load_machine("cpu-cluster")
    found = mlperf.predict_system(
        small_model, own_system, "alexnet", machine, JOB, n_nodes=[1, 4], settings={"local_steps": [1, 8]}
    )
    parts = found.breakdown_s["round"]
    np.testing.assert_allclose(parts["forward"][1::2], 8 * parts["forward"][::2], rtol=1e-12)
    np.testing.assert_allclose(sum(parts.values()), found.outputs["round_s"], rtol=1e-12)
    workers = found.configs["n_nodes"] * found.configs["n_gpus_per_node"]
    size = 4.0 * mlperf.load_cnn("alexnet").n_params
    ring = ring_s(np.full(4, size), workers.to_numpy(float), machine.latency_s, machine.bandwidth_bytes_per_s)
    np.testing.assert_allclose(parts["exchange"], np.where(workers > 1, ring, 0.0), rtol=1e-12)
    step = found.outputs["epoch_s"] * found.mean_minibatch_size / JOB.dataset_size
    np.testing.assert_allclose(step, found.outputs["round_s"], rtol=1e-12)
    both = parts["forward"] + parts["backward"]
    gradient = mlperf.predict_epoch(small_model, "alexnet", machine, JOB, n_nodes=1, n_draws=20).gpu_breakdown_s["compute_gradient"]
    np.testing.assert_allclose(both[::2], gradient[0], rtol=1e-12)
    assert found.assumed == ("exchange",)
    low, high = found.prediction_interval["epoch_s"].lower, found.prediction_interval["epoch_s"].upper
    assert (low < found.epoch_s).all()
    assert (found.epoch_s < high).all()
    inner = found.confidence_interval["epoch_s"]
    assert (inner.upper - inner.lower < high - low).all()


def test_an_assumed_exchange_is_outside_the_domain_but_of_one_worker(small_model: Any, own_system: str) -> None:
    found = mlperf.predict_system(small_model, own_system, "alexnet", "cpu-cluster", JOB, n_nodes=[1, 2], n_gpus_per_node=1)
    assert found.in_domain["exchange"].tolist() == [True, False]
    with pytest.raises(DomainError, match=r"2 nodes x 1 GPUs.*outside the measured domain: exchange: not measured"):
        mlperf.predict_system(
            small_model, own_system, "alexnet", "cpu-cluster", JOB, n_nodes=[1, 2], n_gpus_per_node=1, strict=True
        )


def test_a_factor_scales_its_component_alone(small_model: Any, own_system: str) -> None:
    asked = (own_system, "alexnet", load_machine("cpu-cluster"), JOB)
    usual = mlperf.predict_system(small_model, *asked, n_draws=20)
    faster = mlperf.predict_system(small_model, *asked, factors={"backward": 0.5}, n_draws=20)
    for name, part in usual.breakdown_s["round"].items():
        wanted = 0.5 * part if name == "backward" else part
        if name != "straggler":
            np.testing.assert_allclose(faster.breakdown_s["round"][name], wanted, rtol=1e-12)
    assert faster.prediction_interval["epoch_s"].upper[0] < usual.prediction_interval["epoch_s"].upper[0]
    with pytest.raises(UsageError, match="backwards"):
        mlperf.predict_system(small_model, *asked, factors={"backwards": 0.5})


def test_a_measured_exchange_takes_the_place_of_the_assumed_one(small_model: Any, own_system: str) -> None:
    """Rows of a ring at 2 to 8 ranks, made from two figures; the model gives them back, in the domain and with an interval."""
    counts, sizes = np.meshgrid([2.0, 4.0, 8.0], np.geomspace(1e6, 1e9, 13))
    seconds = 2 * (counts - 1) * 1e-4 + 2 * (counts - 1) / counts * sizes / 1e9
    noise = np.exp(0.02 * np.random.default_rng(0).standard_normal(counts.shape))
    rows = pd.DataFrame({"n_gpus": counts.ravel(), "size_bytes": sizes.ravel(), "exchange_s": (noise * seconds).ravel()})
    exchange = train_exchange(rows)
    asked = (own_system, "alexnet", load_machine("cpu-cluster"), JOB)
    found = mlperf.predict_system(small_model, *asked, n_nodes=4, n_gpus_per_node=1, exchange=exchange)
    size = 4.0 * mlperf.load_cnn("alexnet").n_params
    assert found.breakdown_s["round"]["exchange"][0] == pytest.approx(2 * 3 * 1e-4 + 2 * 3 / 4 * size / 1e9, rel=0.05)
    assert found.source["exchange"] == "model of the exchange"
    assert found.assumed == ()
    with pytest.raises(UsageError, match="has no 'exchange'"):
        mlperf.predict_system(small_model, "sprint", *asked[1:], exchange=exchange)


def test_an_exchange_of_one_count_is_drawn_to_either_side_as_far_as_other_forms_lie(small_model: Any, own_system: str) -> None:
    """A ring is told of two ranks; a tree and halving and doubling, which fit alike, take far less at sixteen and never more."""
    sizes = np.geomspace(1e3, 1e9, 13)
    rows = pd.DataFrame({"n_gpus": 2.0, "size_bytes": sizes, "exchange_s": 2 * 0.5 + sizes / 1e9})
    exchange = train_exchange(rows)
    asked = (own_system, "alexnet", load_machine("cpu-cluster"), JOB)
    found = mlperf.predict_system(small_model, *asked, n_nodes=16, n_gpus_per_node=1, exchange=exchange)
    size = 4.0 * mlperf.load_cnn("alexnet").n_params
    bounds = exchange.predict_interval(16.0, size, 16.0)
    told_s = found.breakdown_s["round"]["exchange"][0]
    assert bounds.upper / told_s < 1.2 < told_s / bounds.lower
    epoch = found.prediction_interval["epoch_s"]
    assert found.outputs["epoch_s"][0] / epoch.lower[0] > 1.2


def test_a_network_is_predicted_alike_alone_and_beside_others(small_model: Any) -> None:
    machine, job = load_machine("dgx-h100"), JobSpec(dataset_size=100_000)
    sizes = {"n_nodes": 2, "n_gpus_per_node": 8, "subbatch_size": 4}
    together = mlperf.predict_system(small_model, "fully-sharded", ["alexnet", "vgg16"], machine, job, **sizes)
    for row, name in enumerate(together.cnn):
        alone = mlperf.predict_system(small_model, "fully-sharded", name, machine, job, **sizes)
        assert together.outputs["step_s"][row] == pytest.approx(alone.outputs["step_s"][0], rel=1e-12)
        assert together.configs["n_layers"].iloc[row] == alone.configs["n_layers"].iloc[0] > 1.0


def test_what_nobody_knows_is_refused(small_model: Any, own_system: str) -> None:
    with pytest.raises(UsageError, match="local_step'") as caught:
        mlperf.predict_system(small_model, own_system, "alexnet", "cpu-cluster", JOB, settings={"local_step": 2})
    assert "local_steps" in str(caught.value.hint)
    with pytest.raises(DataError, match="at least 1"):
        mlperf.predict_system(small_model, own_system, "alexnet", "cpu-cluster", JOB, settings={"local_steps": 0})
    with pytest.raises(UsageError, match="at least one"):
        mlperf.predict_system(small_model, own_system, [], "cpu-cluster", JOB)


class Wrong(SprintSystem):
    """Equations that give no number."""

    def solve(self, times: Any, run: Any) -> Solution:
        found = SPRINT.solve(times, run)
        return Solution({**found.outputs, "epoch_s": np.nan * found.outputs["epoch_s"]}, found.breakdown_s)


def test_a_system_that_gives_no_number_is_named(small_model: Any) -> None:
    with pytest.raises(DataError, match="'sprint' gave nan for 'epoch_s'"):
        mlperf.predict_system(small_model, Wrong(), "alexnet", "cpu-cluster", JOB, n_draws=20)
    run = {"n_nodes": 1, "n_gpus_per_node": 1, "subbatch_size": 1, "dataset_size": 1}
    promised = SprintSystem(outputs=("epoch_s", "joy"))
    with pytest.raises(DataError, match="joy"):
        solved(promised, {"compute_gradient": 1.0, "update_weights": 0.1}, run)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (({"epoch_s": 1.0},), "the solve of system 'own' returned a tuple, expected a Solution"),
        (Solution({"epoch_s": np.ones(1), "mean_minibatch_size": np.ones(1)}, {}), "of system 'own' has no parts"),
    ],
)
def test_a_system_that_gives_no_solution_is_named(answer: object, message: str) -> None:
    own: Any = SimpleNamespace(name="own", outputs=("epoch_s", "mean_minibatch_size"), solve=lambda *_: answer)
    with pytest.raises(DataError, match=message):
        breakdown_of(own, solved(own, {}, {}), 1)
