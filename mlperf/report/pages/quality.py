"""How the model of learning quality is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from mlperf.training.quality import QualityModel


def quality_sections(result: QualityModel) -> tuple[Section, ...]:
    """What was fitted and how well, its terms, and the runs it rests on."""
    errors = result.errors
    about = {
        "target_accuracy": result.target_accuracy,
        "n_settings": result.n_settings,
        "n_runs": len(result.rows),
        "n_censored": result.n_censored,
        "left_out_mean_error": float("nan") if errors is None else errors.errors.mape,
        "left_out_max_error": float("nan") if errors is None else errors.errors.max,
    }
    return (
        Section("Epochs to the target accuracy", pd.DataFrame([about])),
        Section("log(epochs)", result.estimator.report_.coefficients.rename_axis("term").reset_index()),
        Section("Runs", result.rows),
    )
