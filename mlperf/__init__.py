"""How long will an epoch of this network take on that cluster, and how sure are we."""

from __future__ import annotations

from mlperf.core.lazy import exports

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "read_campaign": "mlperf.datasets",
        "join_tables": "mlperf.datasets",
        "train": "mlperf.training",
        "load_model": "mlperf.studies.model_files",
        "save_model": "mlperf.studies.model_files",
        "predict_epoch": "mlperf.planning",
        "search_runs": "mlperf.planning",
        "search_machines": "mlperf.planning",
        "predict_system": "mlperf.planning",
        "search_system": "mlperf.planning",
        "compare_runs": "mlperf.planning",
        "solve": "mlperf.systems.sprint.solve",
        "plot": "mlperf.report.text.views",
        "draw_paper_figures": "mlperf.report.paper",
        "load_cnn": "mlperf.specs.zoo.zoo:find_cnn",
        "load_machine": "mlperf.specs.machine:find_machine",
        "load_job": "mlperf.specs.job:read_job",
        "from_torch": "mlperf.specs",
        "from_onnx": "mlperf.specs",
        "CnnSpec": "mlperf.specs",
        "MachineSpec": "mlperf.specs",
        "JobSpec": "mlperf.specs",
        "StepwiseOLS": "mlperf.models",
    },
)
__all__ += ["__version__"]
