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
        "compare_runs": "mlperf.planning",
        "CnnSpec": "mlperf.specs",
        "MachineSpec": "mlperf.specs",
        "JobSpec": "mlperf.specs",
        "StepwiseOLS": "mlperf.models",
    },
)
__all__ += ["__version__"]
