"""What a machine has and a configuration may not exceed: nodes, devices of a node, memory of a device."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.specs.kernels.memory import max_subbatch_size
from mlperf.specs.machine import MachineSpec
from mlperf.specs.network.cnn import CnnSpec


def check_limits(machine: MachineSpec, cnns: Sequence[CnnSpec], configs: pd.DataFrame, *, memory: bool = True) -> None:
    """Refuse configurations that the machine cannot run.

    Parameters
    ----------
    machine : MachineSpec
        Gives the limits; a memory that nobody knows limits nothing.
    cnns : sequence of CnnSpec
        Networks that ``configs["cnn"]`` counts from 0.
    configs : DataFrame
        ``cnn, n_nodes, n_gpus_per_node, subbatch_size``.
    memory : bool
        Whether a device must hold the whole network.

    Raises
    ------
    DataError
        Names the first limit, what was asked and what there is.
    """
    for column, has, what in (("n_nodes", machine.max_nodes, "nodes"), ("n_gpus_per_node", machine.n_gpus_per_node, "GPUs a node")):
        most = int(configs[column].max())
        if most > has:
            raise DataError(
                f"got {most} {what}, expected at most {has}",
                place=f"machine {machine.name!r}",
                hint="Ask for fewer, or describe the larger machine in a TOML file (--machine FILE).",
            )
    if machine.device_memory_bytes is None or not memory:
        return
    for position, rows in configs.groupby("cnn"):
        cnn, most = cnns[int(str(position))], int(rows["subbatch_size"].max())
        largest = max_subbatch_size(cnn, machine.device_memory_bytes)
        if most > largest:
            raise DataError(
                f"got sub-batch {most:,} of CNN {cnn.name!r}, expected at most {largest:,}: more does not fit "
                f"{machine.device_memory_bytes / 1e9:.3g} GB",
                place=f"machine {machine.name!r}, device_memory_bytes",
                hint="Take a smaller sub-batch (--subbatch), or a machine file without device_memory_bytes to ignore it.",
            )
