"""Studies of measured kernels: feature sets joined with learners, what each is worth, and models of kernels nobody has run."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "read_kernel_times": "mlperf.systems.kernel_study.reading",
        "read_all_kernels": "mlperf.systems.kernel_study.merging",
        "asked_kernels": "mlperf.systems.kernel_study.asked",
        "KernelTimes": "mlperf.systems.kernel_study.kernel_times",
        "Setting": "mlperf.systems.kernel_study.kernel_times",
        "choose_setting": "mlperf.systems.kernel_study.kernel_times",
        "MachineFacts": "mlperf.systems.kernel_study.machines",
        "FEATURE_SETS": "mlperf.systems.kernel_study.feature_sets",
        "kernel_features": "mlperf.systems.kernel_study.feature_sets",
        "LEARNERS": "mlperf.systems.kernel_study.learners",
        "study_kernels": "mlperf.systems.kernel_study.study",
        "KernelStudy": "mlperf.systems.kernel_study.study",
        "StudyPlan": "mlperf.systems.kernel_study.study",
        "train_kernels": "mlperf.systems.kernel_study.kernel_model",
        "predict_kernels": "mlperf.systems.kernel_study.kernel_model",
        "load_kernel_model": "mlperf.systems.kernel_study.kernel_model",
        "KernelModel": "mlperf.systems.kernel_study.kernel_model",
        "KernelPredictions": "mlperf.systems.kernel_study.kernel_model",
        "PublishedModel": "mlperf.systems.kernel_study.published",
        "published_times": "mlperf.systems.kernel_study.published",
        "PUBLISHED": "mlperf.systems.kernel_study.published",
    },
)
