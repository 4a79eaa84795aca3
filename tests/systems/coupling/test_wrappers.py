"""Wrappers around systems: limits, draws, and that they compose."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.systems.base.system import Refusing, System, refusals
from mlperf.systems.coupling.checkpoints import checkpoint_factor
from mlperf.systems.coupling.wrappers import Checkpoints, InputStall, MixedSpeeds, Own, StartUp, Wrapped
from mlperf.systems.data_parallel.replicated import DATA_PARALLEL
from mlperf.systems.sprint.system import SPRINT

TIMES = {"forward": 0.1, "backward": 0.2, "exchange": 0.05, "optimizer": 0.01}
RUN = {"n_nodes": np.array([1, 4]), "n_gpus_per_node": 2, "subbatch_size": 32, "dataset_size": 64_000}


def test_a_wrapper_is_a_system_again() -> None:
    whole = StartUp(Checkpoints(InputStall(DATA_PARALLEL)))
    assert isinstance(whole, System)
    assert whole.name == "data-parallel+input+checkpoints+start-up"
    assert {"load", "checkpoint", "restart", "start_up"} <= {each.name for each in whole.components}
    times = {**TIMES, "load": 1.0, "checkpoint": 6.0, "start_up": 100.0}
    run = {**RUN, "epochs": 3.0, "checkpoint_every_s": 600.0, "mtbf_node_s": 1e6, "n_loaders": 2.0}
    found = whole.solve(times, run)
    assert tuple(found.outputs) == tuple(dict.fromkeys(whole.outputs))
    step = found.outputs["step_s"]
    assert step.tolist() == pytest.approx([0.5, 0.5])
    assert found.breakdown_s["step"]["load"] + DATA_PARALLEL.solve(TIMES, RUN).outputs["step_s"] == pytest.approx(step)
    factor = checkpoint_factor(600.0, 6.0, 0.0, 1e6 / np.array([1, 4]))
    epoch = 64_000 / (np.array([2, 8]) * 32) * 0.5 * factor
    assert found.outputs["epoch_s"] == pytest.approx(epoch)
    assert found.outputs["run_s"] == pytest.approx(100.0 + 3.0 * epoch)
    assert found.flags["load_bound"].all()


def test_a_wrapper_that_has_nothing_to_do_changes_nothing() -> None:
    plain = DATA_PARALLEL.solve(TIMES, RUN)
    for wrapped in (InputStall(DATA_PARALLEL), Checkpoints(DATA_PARALLEL), StartUp(DATA_PARALLEL), MixedSpeeds(DATA_PARALLEL)):
        found = wrapped.solve(TIMES, RUN)
        for name, value in plain.outputs.items():
            assert found.outputs[name] == pytest.approx(value), (wrapped.name, name)


def test_input_that_varies_waits_as_draws_do() -> None:
    rng = np.random.default_rng(2)
    found = InputStall(DATA_PARALLEL).solve({**TIMES, "load": 0.33, "load_std": 0.05, "period_std": 0.02}, RUN)
    step = DATA_PARALLEL.solve(TIMES, RUN).outputs["step_s"]
    drawn = np.maximum(step[1] + 0.02 * rng.standard_normal(300_000), 0.33 + 0.05 * rng.standard_normal(300_000))
    assert found.outputs["step_s"][1] == pytest.approx(drawn.mean(), abs=4.0 * drawn.std() / np.sqrt(drawn.size))
    assert found.outputs["samples_per_s"] * found.outputs["step_s"] == pytest.approx(found.outputs["mean_minibatch_size"])


def test_synchronous_workers_of_two_speeds_wait_for_the_slow_ones() -> None:
    """Half of them at half speed, nothing varies: passes take twice as long; with spread, as in draws."""
    mixed = MixedSpeeds(DATA_PARALLEL, (1.0, 0.5), (0.5, 0.5))
    twice = DATA_PARALLEL.solve({**TIMES, "forward": 0.2, "backward": 0.4}, RUN).outputs["step_s"]
    assert mixed.solve(TIMES, RUN).outputs["step_s"] == pytest.approx(twice)
    near = MixedSpeeds(DATA_PARALLEL, (1.0, 0.95), (0.75, 0.25))
    rng = np.random.default_rng(4)
    spread = {"forward_std": 0.01, "backward_std": 0.02}
    work = 0.3 + np.hypot(0.01, 0.02) * rng.standard_normal((200_000, 8))
    slowest = (work / np.array([1.0] * 6 + [0.95] * 2)).max(axis=1)
    given = {"forward": 0.1, "backward": 0.2, "optimizer": 0.01, "exchange": 0.0}
    found = near.solve(given | spread, RUN).outputs["step_s"][1] - 0.01
    assert found == pytest.approx(slowest.mean(), abs=4.0 * slowest.std() / np.sqrt(slowest.size))


def test_asynchronous_rates_add() -> None:
    """Three quarters at full and a quarter at half speed, no exchange: 7/8 of the samples per second."""
    times = {"forward": 0.1, "backward": 0.2, "exchange": 0.0}
    mixed = MixedSpeeds(DATA_PARALLEL, (1.0, 0.5), (0.75, 0.25), asynchronous=True).solve(times, RUN).outputs
    plain = DATA_PARALLEL.solve(times, RUN).outputs
    assert mixed["samples_per_s"] == pytest.approx(0.875 * plain["samples_per_s"])
    assert mixed["epoch_s"] == pytest.approx(plain["epoch_s"] / 0.875)


def test_without_an_interval_the_best_one_is_taken() -> None:
    times, run = {**TIMES, "checkpoint": 10.0, "restart": 60.0}, {**RUN, "mtbf_node_s": 2e5}
    free = Checkpoints(DATA_PARALLEL).solve(times, run).outputs
    assert free["checkpoint_interval_s"][1] == pytest.approx(np.sqrt(2 * 10 * 5e4), rel=0.01)
    for factor in (0.5, 2.0):
        other = (
            Checkpoints(DATA_PARALLEL).solve(times, {**run, "checkpoint_every_s": factor * free["checkpoint_interval_s"]}).outputs
        )
        assert (other["epoch_s"] > free["epoch_s"]).all()


def test_what_cannot_run_inside_cannot_run() -> None:
    whole = StartUp(Checkpoints(DATA_PARALLEL))
    run = {**RUN, "accumulation": np.array([1.0, 1.5])}
    assert isinstance(whole, Refusing)
    assert refusals(whole, run)["accumulation must be a whole number"].tolist() == [False, True]
    assert refusals(StartUp(SPRINT), run) == {}


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(UsageError, match=r"system 'sprint', which has no 'step_s'"):
        InputStall(SPRINT).solve({"compute_gradient": 0.1}, RUN)
    with pytest.raises(DataError, match="checkpoints that cost nothing"):
        Checkpoints(DATA_PARALLEL).solve(TIMES, {**RUN, "mtbf_node_s": 1e5})
    with pytest.raises(UsageError, match="shares adding up to 1"):
        MixedSpeeds(DATA_PARALLEL, (1.0, 0.5), (0.5, 0.6))
    with pytest.raises(UsageError, match="expected one of them"):
        assert Wrapped(DATA_PARALLEL).name
    with pytest.raises(UsageError, match="expected the wrapper"):
        Own("nothing", (), ()).solve({}, RUN)
