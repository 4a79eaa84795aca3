"""What `mlperf` imports on first use, as type checkers see it."""

from mlperf.datasets.campaigns.campaign import read_campaign
from mlperf.datasets.joining.join import join_tables
from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS
from mlperf.planning.compare import compare_runs
from mlperf.planning.predict import predict_epoch
from mlperf.planning.search.machines import search_machines
from mlperf.planning.search.search import search_runs
from mlperf.planning.systems.predict import predict_system
from mlperf.planning.systems.search import search_system
from mlperf.report.paper.drawing import draw_paper_figures
from mlperf.report.text.views import plot
from mlperf.specs.importers.onnx.graph import from_onnx
from mlperf.specs.importers.torch.tracing import from_torch
from mlperf.specs.job import JobSpec
from mlperf.specs.job import read_job as load_job
from mlperf.specs.machine import MachineSpec
from mlperf.specs.machine import find_machine as load_machine
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.zoo.zoo import find_cnn as load_cnn
from mlperf.studies.model_files import load_model, save_model
from mlperf.systems.sprint.solve import solve
from mlperf.training.training import train

__version__: str

__all__ = [
    "CnnSpec",
    "JobSpec",
    "MachineSpec",
    "StepwiseOLS",
    "__version__",
    "compare_runs",
    "draw_paper_figures",
    "from_onnx",
    "from_torch",
    "join_tables",
    "load_cnn",
    "load_job",
    "load_machine",
    "load_model",
    "plot",
    "predict_epoch",
    "predict_system",
    "read_campaign",
    "save_model",
    "search_machines",
    "search_runs",
    "search_system",
    "solve",
    "train",
]
