"""What `mlperf.specs` imports on first use, as type checkers see it."""

from mlperf.specs.data_types import DATA_TYPES
from mlperf.specs.importers.onnx.graph import from_onnx
from mlperf.specs.importers.torch.tracing import from_torch
from mlperf.specs.job import JobSpec, read_job, write_job
from mlperf.specs.kernels.kernels import FURTHER_KERNELS, GEMM_KERNELS, MEMORY_KERNELS, KernelCall, bytes_moved, kernel_calls
from mlperf.specs.kernels.layer_calls import library_calls
from mlperf.specs.kernels.memory import max_subbatch_size, training_memory
from mlperf.specs.machine import MachineSpec, find_machine, load_machine, machine_names, read_machine, write_machine
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.cnn_toml import read_cnn, write_cnn
from mlperf.specs.network.fields import overridden
from mlperf.specs.network.layer import Layer
from mlperf.specs.network.shape import Shape
from mlperf.specs.network.sprint_form import SprintForm
from mlperf.specs.optimizers import OPTIMIZERS
from mlperf.specs.zoo.generator import make_cnns
from mlperf.specs.zoo.generator_modern import make_modern_cnns
from mlperf.specs.zoo.generator_residual import make_residual_cnns
from mlperf.specs.zoo.zoo import find_cnn, load_cnn, zoo_names

__all__ = [
    "DATA_TYPES",
    "FURTHER_KERNELS",
    "GEMM_KERNELS",
    "MEMORY_KERNELS",
    "OPTIMIZERS",
    "CnnSpec",
    "JobSpec",
    "KernelCall",
    "Layer",
    "MachineSpec",
    "Shape",
    "SprintForm",
    "bytes_moved",
    "find_cnn",
    "find_machine",
    "from_onnx",
    "from_torch",
    "kernel_calls",
    "library_calls",
    "load_cnn",
    "load_machine",
    "machine_names",
    "make_cnns",
    "make_modern_cnns",
    "make_residual_cnns",
    "max_subbatch_size",
    "overridden",
    "read_cnn",
    "read_job",
    "read_machine",
    "training_memory",
    "write_cnn",
    "write_job",
    "write_machine",
    "zoo_names",
]
