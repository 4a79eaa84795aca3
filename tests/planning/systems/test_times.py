"""Component times of any system are sums of the measured parts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import UsageError
from mlperf.planning.component_times import Draws, component_mean
from mlperf.planning.inputs import configuration_inputs, configurations
from mlperf.planning.systems.times import draw_system_times, forward_share, of_system, system_times
from mlperf.specs import load_cnn, load_machine
from mlperf.systems.base.system import Solution, SystemComponent
from mlperf.training.gradient.launches import Launches

pytestmark = pytest.mark.slow


class Parts:
    """A system with the components that are asked for; it is never solved."""

    name, title, settings, outputs = "parts", "parts", (), ("epoch_s", "mean_minibatch_size")

    def __init__(self, *names: str, needed: bool = False) -> None:
        self.components = tuple(SystemComponent(name, "step", "work", name, needed=needed) for name in names)

    def solve(self, times: Any, run: Any) -> Solution:
        """Nothing couples."""
        return Solution({"epoch_s": np.sum(list(times.values()), axis=0), "mean_minibatch_size": run["subbatch_size"]}, {})


@pytest.fixture
def inputs(small_model: Any) -> Any:
    cnns = [load_cnn("alexnet"), load_cnn("resnet18")]
    configs = configurations([0, 1], [1, 4], 2, [1, 4], 60_000)
    return configuration_inputs(small_model, cnns, load_machine("cpu-cluster"), configs)


def test_forward_and_backward_are_the_measured_step(small_model: Any, inputs: Any) -> None:
    found = system_times(small_model, inputs, Parts("forward", "backward", "compute"))
    both = found.seconds["forward"] + found.seconds["backward"]
    np.testing.assert_allclose(both, found.seconds["compute"], rtol=1e-12)
    np.testing.assert_allclose(both, component_mean(small_model, inputs, "compute_gradient").seconds, rtol=1e-12)


def test_the_forward_share_is_that_of_the_forward_kernels(small_model: Any, inputs: Any) -> None:
    """Summed call by call, in a loop, up to the softmax that ends the forward pass."""
    share = forward_share(small_model, inputs.steps)
    calls = inputs.steps.calls.assign(time_s=small_model.gradient.call_times(inputs.steps.calls))
    for position, number in enumerate(inputs.steps.number):
        seconds, before, total = 0.0, True, 0.0
        for row in calls[calls["run"] == number].itertuples():
            total += row.time_s
            seconds += row.time_s if before else 0.0
            before = before and row.kernel != "softmax"
        assert share[position] == pytest.approx(seconds / total, rel=1e-9)
    assert ((share > 0.1) & (share < 0.5)).all()


def test_every_worker_updates_all_weights_where_nobody_shares_them(small_model: Any, inputs: Any) -> None:
    """SPRINT's nodes share the momentum; a synchronous worker does not, so nodes make no difference."""
    optimizer = system_times(small_model, inputs, Parts("optimizer")).seconds["optimizer"]
    table = pd.DataFrame({"cnn": inputs.configs["cnn"], "optimizer": optimizer})
    assert table.groupby("cnn")["optimizer"].nunique().max() == 1
    alone = inputs.take(np.flatnonzero(inputs.configs["n_nodes"] == 1))
    parts = [component_mean(small_model, alone, name).seconds for name in ("add_momentum", "update_momentum", "update_weights")]
    np.testing.assert_allclose(optimizer[(inputs.configs["n_nodes"] == 1).to_numpy()], np.sum(parts, axis=0), rtol=1e-12)


@pytest.mark.parametrize("names", [("forward", "backward"), ("compute",)])
def test_passes_that_vary_by_themselves_make_up_a_step_that_varies_as_measured(
    small_model: Any, inputs: Any, names: tuple[str, ...]
) -> None:
    seconds = system_times(small_model, inputs, Parts(*names)).seconds
    whole = sum(seconds[name] for name in names)
    square = sum(seconds[f"{name}_std"] ** 2 for name in names)
    np.testing.assert_allclose(np.sqrt(square) / whole, small_model.score.step_cv, rtol=1e-12)
    assert small_model.score.step_cv > 0.0


def test_what_nobody_measured_is_named_or_refused(small_model: Any, inputs: Any) -> None:
    found = system_times(small_model, inputs, Parts("forward", "telepathy", "exchange"))
    assert found.source["telepathy"] == "not measured, counted as 0"
    assert found.source["exchange"] == "assumed"
    assert "telepathy" not in found.seconds
    with pytest.raises(UsageError, match="telepathy"):
        system_times(small_model, inputs, Parts("telepathy", needed=True))


def test_what_a_system_wants_of_a_sample_is_the_measured_step_over_its_samples(small_model: Any, inputs: Any) -> None:
    system = Parts("forward", "backward")
    whole = system_times(small_model, inputs, system).seconds
    system.components = tuple(replace(each, per_sample=True) for each in system.components)
    found = system_times(small_model, inputs, system)
    for name in ("forward", "backward"):
        np.testing.assert_allclose(found.seconds[name] * inputs.configs["subbatch_size"], whole[name], rtol=1e-12)
    draws = Draws("run", 20, 0, np.random.default_rng(0))
    drawn = draw_system_times(small_model, inputs, system, found, draws)["forward"]
    np.testing.assert_allclose(np.median(drawn, axis=0), found.seconds["forward"], rtol=0.3)


@pytest.mark.parametrize(("optimizer", "passes"), [("momentum_sgd", 5), ("adam", 7), ("sgd", 3)])
def test_a_device_updates_in_its_own_memory(small_model: Any, inputs: Any, optimizer: str, passes: int) -> None:
    """As many passes over its vectors as the optimizer makes, where scaling the gradient makes two; a server stays on the host."""
    device = replace(small_model, gradient=replace(small_model.gradient, launches=Launches(0.0)))
    asked = replace(inputs, optimizer=optimizer)
    found, host = (system_times(model, asked, Parts("optimizer", "apply")) for model in (device, small_model))
    scaling = component_mean(small_model, of_system(asked), "compute_update_value").seconds
    np.testing.assert_allclose(found.seconds["optimizer"], passes / 2 * scaling, rtol=1e-12)
    np.testing.assert_allclose(found.seconds["apply"], host.seconds["apply"], rtol=1e-12)
    assert not np.allclose(host.seconds["optimizer"], found.seconds["optimizer"])
    # What was measured is the paper's optimizer: another one's passes over the same vectors are worked out of it.
    on_host = "model" if optimizer == "momentum_sgd" else "assumed"
    assert (found.source["optimizer"], host.source["optimizer"], host.source["apply"]) == ("assumed", on_host, on_host)
    drawn = draw_system_times(device, asked, Parts("optimizer", "apply"), found, Draws("mean", 50, 1, np.random.default_rng(1)))
    np.testing.assert_allclose(np.median(drawn["optimizer"], axis=0), found.seconds["optimizer"], rtol=0.2)


def test_a_factor_for_what_has_no_time_says_why(small_model: Any, inputs: Any) -> None:
    found = system_times(small_model, inputs, Parts("forward", "telepathy", "exchange"))
    with pytest.raises(UsageError, match="'exchange', which the equations work out from the machine's network") as caught:
        found.scaled({"exchange": 2.0})
    assert "bandwidth_bytes_per_s" in str(caught.value.hint)
    with pytest.raises(UsageError, match="'telepathy', which nobody measured: it counts as 0"):
        found.scaled({"telepathy": 2.0})
    with pytest.raises(UsageError, match="expected one of forward"):
        found.scaled({"forwards": 2.0})


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("forwards", "Did you mean 'forward'?"),
        (
            "exhange",
            "Did you mean 'exchange'? That is one which the equations work out from the machine's network. Change latency_s",
        ),
        ("allreduce", "Did you mean 'exchange'? That is one which"),
    ],
)
def test_a_misspelt_component_is_told_which_is_meant_and_what_to_change(
    small_model: Any, inputs: Any, name: str, told: str
) -> None:
    found = system_times(small_model, inputs, Parts("forward", "exchange"))
    with pytest.raises(UsageError, match=f"got component '{name}', expected one of forward") as caught:
        found.scaled({name: 0.5})
    assert str(caught.value.hint).startswith(told)
