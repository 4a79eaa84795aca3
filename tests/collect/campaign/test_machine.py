"""machine.toml: this host as predictions read it, written once."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mlperf.collect.campaign.machine import store_machine, this_machine
from mlperf.core.provenance import processor_name
from mlperf.specs import find_machine


def backend(**facts: Any) -> Any:
    return SimpleNamespace(**{"on_device": None, "device": {}, "memory_bytes": 10**9, **facts})


def test_a_host_without_a_device(tmp_path: Path) -> None:
    found = find_machine(store_machine(tmp_path, backend()))
    assert found.processor == processor_name()
    assert found.cores == os.cpu_count()
    assert found.max_nodes == 1
    assert found.device_memory_bytes is None


def test_a_device_is_the_processor() -> None:
    found = this_machine("box", backend(on_device=object(), device={"name": "NVIDIA H100"}, memory_bytes=80 * 10**9))
    assert (found.processor, found.device_memory_bytes, found.n_gpus_per_node) == ("NVIDIA H100", 80 * 10**9, 1)


def test_what_its_owner_added_stays(tmp_path: Path) -> None:
    path = store_machine(tmp_path, backend())
    path.write_text(path.read_text(encoding="utf-8").replace("max_nodes = 1", "max_nodes = 8", 1), encoding="utf-8")
    assert find_machine(store_machine(tmp_path, backend())).max_nodes == 8
