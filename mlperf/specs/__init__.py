"""Networks, machines and jobs: what is run, on what, and how often."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "CnnSpec": "cnn",
    "Layer": "layer",
    "Shape": "shape",
    "SprintForm": "sprint_form",
    "KernelCall": "kernels",
    "kernel_calls": "kernels",
    "MEMORY_KERNELS": "kernels",
    "GEMM_KERNELS": "kernels",
    "bytes_moved": "kernels",
    "library_calls": "layer_calls",
    "read_cnn": "cnn_toml",
    "write_cnn": "cnn_toml",
    "load_cnn": "zoo",
    "find_cnn": "zoo",
    "zoo_names": "zoo",
    "make_cnns": "generator",
    "make_residual_cnns": "generator_residual",
    "training_memory": "memory",
    "max_subbatch_size": "memory",
    "MachineSpec": "machine",
    "read_machine": "machine",
    "load_machine": "machine",
    "find_machine": "machine",
    "machine_names": "machine",
    "write_machine": "machine",
    "JobSpec": "job",
    "read_job": "job",
    "write_job": "job",
    "overridden": "fields",
    "from_torch": "torch_import",
    "from_onnx": "onnx_import",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a name from its file on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mlperf.specs' has no attribute {name!r}")
    return getattr(import_module(f"mlperf.specs.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
