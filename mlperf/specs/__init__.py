"""Networks, machines and jobs: what is run, on what, and how often."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "CnnSpec": "mlperf.specs.cnn",
        "Layer": "mlperf.specs.layer",
        "Shape": "mlperf.specs.shape",
        "SprintForm": "mlperf.specs.sprint_form",
        "KernelCall": "mlperf.specs.kernels",
        "kernel_calls": "mlperf.specs.kernels",
        "MEMORY_KERNELS": "mlperf.specs.kernels",
        "GEMM_KERNELS": "mlperf.specs.kernels",
        "bytes_moved": "mlperf.specs.kernels",
        "library_calls": "mlperf.specs.layer_calls",
        "read_cnn": "mlperf.specs.cnn_toml",
        "write_cnn": "mlperf.specs.cnn_toml",
        "load_cnn": "mlperf.specs.zoo",
        "find_cnn": "mlperf.specs.zoo",
        "zoo_names": "mlperf.specs.zoo",
        "make_cnns": "mlperf.specs.generator",
        "make_residual_cnns": "mlperf.specs.generator_residual",
        "training_memory": "mlperf.specs.memory",
        "max_subbatch_size": "mlperf.specs.memory",
        "MachineSpec": "mlperf.specs.machine",
        "read_machine": "mlperf.specs.machine",
        "load_machine": "mlperf.specs.machine",
        "find_machine": "mlperf.specs.machine",
        "machine_names": "mlperf.specs.machine",
        "write_machine": "mlperf.specs.machine",
        "JobSpec": "mlperf.specs.job",
        "read_job": "mlperf.specs.job",
        "write_job": "mlperf.specs.job",
        "overridden": "mlperf.specs.fields",
        "from_torch": "mlperf.specs.torch_import",
        "from_onnx": "mlperf.specs.onnx_import",
    },
)
