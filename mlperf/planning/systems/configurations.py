"""The run of any system as its equations read it: sizes, settings, and what the network and the machine give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import UsageError, check_type
from mlperf.core.suggest import nearest_hint
from mlperf.planning.component_times import BYTES_PER_PARAM
from mlperf.planning.inputs import MOST_CONFIGURATIONS, ConfigurationInputs
from mlperf.specs.kernels.memory import training_memory
from mlperf.specs.machine import MachineSpec
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.optimizers import optimizer
from mlperf.systems.base.system import RUN_COLUMNS, System

LINKS = ("latency_s", "bandwidth_bytes_per_s")
LAYERS = "n_layers"
LOCAL_LINKS = {name: f"local_{name}" for name in LINKS}

Settings = Mapping[str, float | Sequence[float]]


def with_settings(configs: pd.DataFrame, system: System, settings: Settings) -> pd.DataFrame:
    """Every combination of configurations and settings, the settings fastest; what was not set has its default.

    Raises
    ------
    UsageError
        The system knows no such setting, or there are more combinations than memory takes.
    """
    known = {setting.name: setting for setting in system.settings}
    for name in settings:
        if name not in known:
            expected = f"expected one of {', '.join(known)}" if known else "which has none"
            got = f"got the setting {name!r} of the system {system.name!r}, {expected}"
            raise UsageError(got, hint=nearest_hint(name, known))
    axes = [_several(settings.get(name, setting.default)) for name, setting in known.items()]
    n_configs = len(configs) * prod(map(len, axes))
    if n_configs > MOST_CONFIGURATIONS:
        got = f"got {n_configs:,} configurations, expected at most {MOST_CONFIGURATIONS:,}"
        raise UsageError(got, hint="Name fewer nodes, GPUs, sub-batches or values of the settings.")
    choices = list(product(*axes))
    repeated = configs.loc[configs.index.repeat(len(choices))].reset_index(drop=True)
    values = np.tile(np.array(choices, float).reshape(len(choices), len(known)), (len(configs), 1))
    return repeated.assign(**{name: values[:, column] for column, name in enumerate(known)})


def run_of(inputs: ConfigurationInputs, system: System) -> dict[str, FloatArray]:
    """Columns that the equations of a system read, shape (n_configs,) each.

    Sizes and settings; of the network ``n_params``, ``gradient_bytes`` and what its training keeps in memory; of the machine the
    links and the memory of a device as far as they are known.
    """
    configs = inputs.configs
    names = [*RUN_COLUMNS, *(setting.name for setting in system.settings)]
    run = {name: configs[name].to_numpy(float) for name in names}
    n_params = inputs.columns["n_params"].to_numpy(float)
    run |= {"n_params": n_params, "gradient_bytes": BYTES_PER_PARAM * n_params}
    return run | memory_columns(inputs) | machine_columns(inputs.machine, len(configs))


def machine_columns(machine: MachineSpec, n_configs: int) -> dict[str, FloatArray]:
    """What is known of a machine's links and devices.

    Links inside of a node that nobody knows are taken as those between nodes: rather too slow than too fast.
    """
    known = {name: getattr(machine, name) for name in (*LINKS, *LOCAL_LINKS.values(), "device_memory_bytes")}
    for name, local in LOCAL_LINKS.items():
        known[local] = known[name] if known[local] is None else known[local]
    return {name: np.broadcast_to(float(value), n_configs) for name, value in known.items() if value is not None}


def memory_columns(inputs: ConfigurationInputs) -> dict[str, FloatArray]:
    """Bytes that training keeps in single precision (see `mlperf.specs.kernels.memory.training_memory`).

    ``activation_bytes`` are those of one sub-batch, ``boundary_bytes`` what a layer hands on of it; weights, gradients and the
    optimizer's state in bytes a parameter.
    """
    estimates = [(training_memory(cnn, 1), training_memory(cnn, 2)) for cnn in inputs.cnns]
    which, configs = inputs.configs["cnn"].to_numpy(int), inputs.configs
    sample = np.array([two.total_bytes - one.total_bytes for one, two in estimates], float)[which]
    weights = np.array([float(one.weights_bytes) for one, _ in estimates])[which]
    boundary = np.array([BYTES_PER_PARAM * mean_output_size(cnn) for cnn in inputs.cnns])[which]
    each = np.broadcast_to(float(BYTES_PER_PARAM), len(configs))
    vectors = float(optimizer(inputs.optimizer).n_state)
    return {
        "parameter_bytes": weights,
        "sample_activation_bytes": sample,
        "activation_bytes": sample * configs["subbatch_size"].to_numpy(float),
        "boundary_bytes": boundary * configs["subbatch_size"].to_numpy(float),
        "bytes_per_param": each,
        "bytes_per_gradient": each,
        "state_bytes_per_param": vectors * each,
    }


def mean_output_size(cnn: CnnSpec) -> float:
    """Values of one sample that a layer with parameters hands on, mean over those layers."""
    table = cnn.layer_table()
    names = table.loc[table["n_params"] > 0, "layer"]
    return float(np.mean([cnn.shapes[name].size for name in names])) if len(names) else 0.0


def network_settings(system: System) -> dict[str, float]:
    """Settings that a network answers by itself, each NaN until `of_networks` fills it in: its layers with parameters."""
    return {setting.name: np.nan for setting in system.settings if setting.name == LAYERS}


def of_networks(configs: pd.DataFrame, cnns: Sequence[CnnSpec]) -> pd.DataFrame:
    """Configurations with what each row's own network answers where nobody gave a number."""
    if LAYERS not in configs:
        return configs
    layers = np.array([float((cnn.layer_table()["n_params"] > 0).sum()) for cnn in cnns])
    given = configs[LAYERS].to_numpy(float)
    return configs.assign(**{LAYERS: np.where(np.isnan(given), layers[configs["cnn"].to_numpy(int)], given)})


def check_settings(settings: object) -> None:
    """Raise UsageError for settings that are no mapping."""
    if settings is not None:
        check_type(settings, Mapping, "settings", "a mapping", 'As in settings={"accumulation": 4}.')


def _several(value: float | Sequence[float]) -> list[float]:
    return [float(value)] if isinstance(value, (int, float)) else [float(each) for each in value]
