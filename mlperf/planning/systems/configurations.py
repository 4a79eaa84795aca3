"""The run of any system as its equations read it: sizes, settings, and what the network and the machine give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import UsageError
from mlperf.core.suggest import did_you_mean
from mlperf.planning.component_times import BYTES_PER_PARAM
from mlperf.planning.inputs import MOST_CONFIGURATIONS, ConfigurationInputs
from mlperf.specs.kernels.memory import training_memory
from mlperf.specs.machine import MachineSpec
from mlperf.specs.network.cnn import CnnSpec
from mlperf.systems.base.system import RUN_COLUMNS, System

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
            raise UsageError(got, hint=did_you_mean(name, known))
    axes = [_several(settings.get(name, setting.default)) for name, setting in known.items()]
    choices = list(product(*axes))
    if len(configs) * len(choices) > MOST_CONFIGURATIONS:
        got = f"got {len(configs) * len(choices):,} configurations, expected at most {MOST_CONFIGURATIONS:,}"
        raise UsageError(got, hint="Name fewer nodes, GPUs, sub-batches or values of the settings.")
    repeated = configs.loc[configs.index.repeat(len(choices))].reset_index(drop=True)
    values = np.tile(np.array(choices, float).reshape(len(choices), len(known)), (len(configs), 1))
    return repeated.assign(**{name: values[:, column] for column, name in enumerate(known)})


def run_of(inputs: ConfigurationInputs, system: System) -> dict[str, FloatArray]:
    """Columns that the equations of a system read, shape (n_configs,) each.

    Sizes and settings; of the network ``n_params``, ``gradient_bytes`` and the bytes of its memory; of the machine those of
    ``latency_s``, ``bandwidth_bytes_per_s`` and ``device_memory_bytes`` that are known.
    """
    configs = inputs.configs
    names = [*RUN_COLUMNS, *(setting.name for setting in system.settings)]
    run = {name: configs[name].to_numpy(float) for name in names}
    n_params = inputs.columns["n_params"].to_numpy(float)
    run |= {"n_params": n_params, "gradient_bytes": BYTES_PER_PARAM * n_params, **memory_columns(inputs.cnns, configs)}
    return run | machine_columns(inputs.machine, len(configs))


def machine_columns(machine: MachineSpec, n_configs: int) -> dict[str, FloatArray]:
    """What is known of a machine's network and devices."""
    names = ("latency_s", "bandwidth_bytes_per_s", "device_memory_bytes")
    known = {name: getattr(machine, name) for name in names}
    return {name: np.full(n_configs, float(value)) for name, value in known.items() if value is not None}


def memory_columns(cnns: Sequence[CnnSpec], configs: pd.DataFrame) -> dict[str, FloatArray]:
    """Bytes of the weights, and of one sample's activations, of each configuration's network."""
    estimates = [(training_memory(cnn, 1), training_memory(cnn, 2)) for cnn in cnns]
    which = configs["cnn"].to_numpy(int)
    sample = np.array([two.total_bytes - one.total_bytes for one, two in estimates], float)
    weights = np.array([float(one.weights_bytes) for one, _ in estimates])
    return {"parameter_bytes": weights[which], "sample_activation_bytes": sample[which]}


def _several(value: float | Sequence[float]) -> list[float]:
    return [float(value)] if isinstance(value, (int, float)) else [float(each) for each in value]
