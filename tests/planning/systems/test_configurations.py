"""Every combination of sizes and settings, and what the equations read of each."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from mlperf.core.errors import UsageError
from mlperf.planning.inputs import configuration_inputs, configurations
from mlperf.planning.systems.configurations import network_settings, of_networks, run_of, with_settings
from mlperf.specs import load_cnn, load_machine
from mlperf.specs.kernels.memory import training_memory
from mlperf.systems.base.system import Setting
from mlperf.systems.registry import find_system
from mlperf.systems.sprint.system import SprintSystem

SYSTEM = SprintSystem(settings=(Setting("pace", 1.0, "how fast", 0.0), Setting("depth", 2.0, "how deep", 1.0)))


def test_all_combinations_are_asked_about() -> None:
    configs = configurations([0], [1, 2], 1, [4, 8], 1000)
    found = with_settings(configs, SYSTEM, {"depth": [1, 3, 5]})
    rows = found[["n_nodes", "subbatch_size", "pace", "depth"]].to_records(index=False).tolist()
    assert rows == list(product([1, 2], [4, 8], [1.0], [1.0, 3.0, 5.0]))


def test_layers_are_those_of_each_rows_own_network() -> None:
    """Also where several networks are asked about at once; a number that was given stays."""
    cnns = [load_cnn("alexnet"), load_cnn("vgg16")]
    sharded = find_system("fully-sharded")
    asked = configurations([0, 1], 1, 4, 8, 1000)
    found = of_networks(with_settings(asked, sharded, network_settings(sharded)), cnns)
    assert found["n_layers"].tolist() == [8.0, 16.0]
    given = of_networks(with_settings(asked, sharded, {**network_settings(sharded), "n_layers": [2, 4]}), cnns)
    assert given["n_layers"].tolist() == [2.0, 4.0, 2.0, 4.0]
    plain = with_settings(asked, SYSTEM, network_settings(SYSTEM))
    assert of_networks(plain, cnns) is plain


def test_a_setting_of_another_system_is_refused() -> None:
    configs = configurations([0], 1, 1, 1, 1000)
    with pytest.raises(UsageError, match="'paces'"):
        with_settings(configs, SYSTEM, {"paces": 1.0})
    with pytest.raises(UsageError, match="which has none"):
        with_settings(configs, SprintSystem(), {"pace": 1.0})
    with pytest.raises(UsageError, match="at most"):
        with_settings(configs, SYSTEM, {"pace": [*range(10_000)], "depth": [*range(1, 2_000)]})


def test_the_run_knows_network_and_machine(small_model: Any) -> None:
    cnn, machine = load_cnn("alexnet"), load_machine("cpu-cluster")
    configs = with_settings(configurations([0], [1, 2], 1, 4, 1000), SYSTEM, {})
    run = run_of(configuration_inputs(small_model, [cnn], machine, configs), SYSTEM)
    assert run["gradient_bytes"].tolist() == [4.0 * cnn.n_params] * 2
    assert run["depth"].tolist() == [2.0, 2.0]
    assert run["latency_s"][0] == machine.latency_s
    whole = run["sample_activation_bytes"] * 7 + training_memory(cnn, 1).total_bytes - run["sample_activation_bytes"]
    assert whole[0] == training_memory(cnn, 7).total_bytes
