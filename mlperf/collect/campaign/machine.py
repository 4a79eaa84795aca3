"""The machine a campaign was measured on, as a file that predictions can be asked for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mlperf.collect.backends.backends import Backend
from mlperf.collect.protocol.host import memory_bytes
from mlperf.core.printable import printable
from mlperf.core.provenance import processor_name
from mlperf.specs.machine import MachineSpec, write_machine

FILE_NAME = "machine.toml"
MEASURED_HERE = "this host"
ONE_NODE = "this host alone; raise it for a cluster of such nodes, and give latency_s and bandwidth_bytes_per_s of its network"


def store_machine(folder: Path, backend: Backend) -> Path:
    """Write ``machine.toml`` beside the tables; a file that is there stays as it is, for its owner may have added to it.

    Parameters
    ----------
    folder : Path
        The campaign's.
    backend : Backend
        What ran the steps: on a device, the device is the processor.
    """
    path = folder / FILE_NAME
    if not path.exists():
        write_machine(this_machine(printable(folder.resolve().name), backend), path)
    return path


def this_machine(name: str, backend: Backend) -> MachineSpec:
    """Describe this host as one node: its device, or all cores but the one of the update thread as workers."""
    cores = os.cpu_count() or 1
    found: dict[str, Any] = {"processor": processor_name(), "n_gpus_per_node": max(1, cores - 1)}
    workers = "one worker a core, and a core for the update thread"
    if backend.on_device is not None:
        device = dict(backend.device)
        found = {"processor": str(device["name"]), "n_gpus_per_node": 1, "device_memory_bytes": backend.memory_bytes}
        workers = "the device that was measured"
    facts = {"cores": cores, "memory_bytes": memory_bytes(), **found}
    sources = {"max_nodes": ONE_NODE, "n_gpus_per_node": workers}
    sources |= {key: MEASURED_HERE for key in facts if key not in sources}
    return MachineSpec(name=name, max_nodes=1, sources=sources, **facts)
