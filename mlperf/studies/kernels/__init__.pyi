"""What `mlperf.studies.kernels` imports on first use, as type checkers see it."""

from mlperf.studies.kernels.feature_sets import FEATURE_SETS, kernel_features
from mlperf.studies.kernels.kernel_model import KernelModel, KernelPredictions, predict_kernels, train_kernels
from mlperf.studies.kernels.learners import LEARNERS
from mlperf.studies.kernels.published import PUBLISHED, PublishedModel, published_times
from mlperf.studies.kernels.study import KernelStudy, StudyPlan, study_kernels
from mlperf.studies.kernels.tables.kernel_times import KernelTimes, Setting, choose_setting
from mlperf.studies.kernels.tables.machines import MachineFacts
from mlperf.studies.kernels.tables.reading import asked_kernels, read_all_kernels, read_kernel_times

__all__ = [
    "FEATURE_SETS",
    "LEARNERS",
    "PUBLISHED",
    "KernelModel",
    "KernelPredictions",
    "KernelStudy",
    "KernelTimes",
    "MachineFacts",
    "PublishedModel",
    "Setting",
    "StudyPlan",
    "asked_kernels",
    "choose_setting",
    "kernel_features",
    "predict_kernels",
    "published_times",
    "read_all_kernels",
    "read_kernel_times",
    "study_kernels",
    "train_kernels",
]
