"""Studies of measured kernels: feature sets joined with learners, what each is worth, and models of kernels nobody has run."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "read_kernel_times": "mlperf.studies.kernels.tables.reading",
        "read_all_kernels": "mlperf.studies.kernels.tables.reading",
        "asked_kernels": "mlperf.studies.kernels.tables.reading",
        "KernelTimes": "mlperf.studies.kernels.tables.kernel_times",
        "Setting": "mlperf.studies.kernels.tables.kernel_times",
        "choose_setting": "mlperf.studies.kernels.tables.kernel_times",
        "MachineFacts": "mlperf.studies.kernels.tables.machines",
        "FEATURE_SETS": "mlperf.studies.kernels.feature_sets",
        "kernel_features": "mlperf.studies.kernels.feature_sets",
        "LEARNERS": "mlperf.studies.kernels.learners",
        "study_kernels": "mlperf.studies.kernels.study",
        "KernelStudy": "mlperf.studies.kernels.study",
        "StudyPlan": "mlperf.studies.kernels.study",
        "train_kernels": "mlperf.studies.kernels.kernel_model",
        "predict_kernels": "mlperf.studies.kernels.kernel_model",
        "KernelModel": "mlperf.studies.kernels.kernel_model",
        "KernelPredictions": "mlperf.studies.kernels.kernel_model",
        "PublishedModel": "mlperf.studies.kernels.published",
        "published_times": "mlperf.studies.kernels.published",
        "PUBLISHED": "mlperf.studies.kernels.published",
    },
)
