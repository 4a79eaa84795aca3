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
        "left_out_nodes_factor": float("nan") if result.judgement is None else result.judgement.factor,
        "left_out_mean_error": float("nan") if errors is None else errors.errors.mape,
        "left_out_max_error": float("nan") if errors is None else errors.errors.max,
    }
    judged = () if result.judgement is None else (Section("Numbers of nodes left out", result.judgement.by_nodes),)
    return (
        Section("Epochs to the target accuracy", pd.DataFrame([about])),
        *(() if result.experimental is None else (Section("", text=f"Epochs to the target are {result.experimental}."),)),
        *judged,
        Section("log(epochs)", coefficients(result)),
        Section("Runs", result.rows),
    )


def coefficients(result: QualityModel) -> pd.DataFrame:
    """The coefficient table; tests only of a model that is not experimental."""
    table: pd.DataFrame = result.estimator.report_.coefficients.rename_axis("term").reset_index()
    return table if result.experimental is None else table[["term", "coef", "std_err"]]
