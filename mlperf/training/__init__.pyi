"""What `mlperf.training` imports on first use, as type checkers see it."""

from mlperf.training.gradient.gradient import GradientModel
from mlperf.training.model import Model
from mlperf.training.reported_model import model_report
from mlperf.training.table.table_model import TableModel
from mlperf.training.training import train

__all__ = ["GradientModel", "Model", "TableModel", "model_report", "train"]
