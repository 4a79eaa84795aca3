"""Constants from a file as the equations read them."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.specs.constants import ANY, CacheStep, MachineConstants, MulAddTable
from mlperf.systems.model_parallel.constants import Constants


def equation_constants(machine: MachineConstants) -> Constants:
    """The constants of a machine as arrays; kinds of layers without a C_muladd of their own take that of any kind.

    Raises
    ------
    DataError
        There is a C_muladd of some kinds, but none for the others.
    """
    kinds = {kind: _arrays(found) for kind, found in machine.muladd.items()}
    default = kinds.pop(ANY, None)
    if default is None:
        for kind in ("fc", "conv", "pool"):
            machine.muladd_s(kind, np.ones(1))
        default = kinds["fc"]
    sizes, muladd_s, cache_bytes = default
    return Constants(
        sizes,
        muladd_s,
        machine.activation_s,
        machine.error_s,
        np.array(machine.interference[: machine.cores]),
        np.array(machine.latency_s[: machine.cores]),
        machine.bandwidth_bytes_per_s,
        machine.add_s_per_param,
        float(machine.value_bytes),
        cache_bytes,
        kinds,
        dict(machine.activation_s_of_kind),
        dict(machine.error_s_of_kind),
        None if machine.add is None else _arrays(machine.add)[:2],
    )


def _arrays(found: CacheStep | MulAddTable) -> tuple[FloatArray, FloatArray, float]:
    if isinstance(found, CacheStep):
        return np.array([found.cache_bytes, 2.0 * found.cache_bytes]), np.array([found.hit_s, found.miss_s]), found.cache_bytes
    return np.array(found.working_set_bytes), np.array(found.muladd_s), 0.0
