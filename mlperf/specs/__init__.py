"""Networks, machines and jobs: what is run, on what, and how often."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "CnnSpec": "mlperf.specs.network.cnn",
        "Layer": "mlperf.specs.network.layer",
        "Shape": "mlperf.specs.network.shape",
        "SprintForm": "mlperf.specs.network.sprint_form",
        "KernelCall": "mlperf.specs.kernels.kernels",
        "kernel_calls": "mlperf.specs.kernels.kernels",
        "MEMORY_KERNELS": "mlperf.specs.kernels.kernels",
        "FURTHER_KERNELS": "mlperf.specs.kernels.kernels",
        "GEMM_KERNELS": "mlperf.specs.kernels.kernels",
        "bytes_moved": "mlperf.specs.kernels.kernels",
        "library_calls": "mlperf.specs.kernels.layer_calls",
        "read_cnn": "mlperf.specs.network.cnn_toml",
        "write_cnn": "mlperf.specs.network.cnn_toml",
        "load_cnn": "mlperf.specs.zoo.zoo",
        "find_cnn": "mlperf.specs.zoo.zoo",
        "zoo_names": "mlperf.specs.zoo.zoo",
        "make_cnns": "mlperf.specs.zoo.generator",
        "make_modern_cnns": "mlperf.specs.zoo.generator_modern",
        "make_residual_cnns": "mlperf.specs.zoo.generator_residual",
        "training_memory": "mlperf.specs.kernels.memory",
        "max_subbatch_size": "mlperf.specs.kernels.memory",
        "MachineSpec": "mlperf.specs.machine",
        "read_machine": "mlperf.specs.machine",
        "load_machine": "mlperf.specs.machine",
        "find_machine": "mlperf.specs.machine",
        "machine_names": "mlperf.specs.machine",
        "write_machine": "mlperf.specs.machine",
        "JobSpec": "mlperf.specs.job",
        "DATA_TYPES": "mlperf.specs.data_types",
        "OPTIMIZERS": "mlperf.specs.optimizers",
        "read_job": "mlperf.specs.job",
        "write_job": "mlperf.specs.job",
        "overridden": "mlperf.specs.network.fields",
        "from_torch": "mlperf.specs.importers.torch.tracing",
        "from_onnx": "mlperf.specs.importers.onnx.graph",
    },
)
