"""Task D3: selection among collinear features, 20 CNNs on one worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from mlperf.datasets import read_open
from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS
from mlperf.models.validation.folds import leave_one_group_out
from mlperf.models.validation.scores import halves_difference
from mlperf.studies.open_data.scoring.result import Finding, TaskResult
from mlperf.studies.open_data.scoring.trial import Method, Trial, device_rows, score

DEVICES = ("K80", "P100")
TERMS = ("n_flops", "n_params", "n_tensors")


class NamedStepwise(StepwiseOLS):
    """The default selection; says which terms it kept."""

    @property
    def choice_(self) -> str:
        """Kept terms."""
        return "{" + ", ".join(self.terms_) + "}"


def cnn_rows(device: str, folder: Path | None) -> tuple[pd.DataFrame, float]:
    """Features and mean step time of each CNN on a device, and the error that its repetitions leave."""
    frame = device_rows(read_open("cmdare", "single_worker", folder), device)
    rows = frame.groupby("cnn", sort=True)[[*TERMS, "step_time_s"]].mean().reset_index()
    return rows, halves_difference(frame, ["cnn"], "step_time_s").mape


def cnn_trial(device: str, folder: Path | None) -> Trial:
    """Each CNN left out."""
    rows, floor = cnn_rows(device, folder)
    keys = rows["cnn"].to_numpy()
    y = rows["step_time_s"].to_numpy()
    return Trial("D3", device, rows[list(TERMS)], y, leave_one_group_out(keys), len(TERMS), groups=keys, noise_floor=floor)


def score_selections(device: str, folder: Path | None) -> TaskResult:
    """Selection on all CNNs, then leave one CNN out with those terms, and with selection inside each fold."""
    trial = cnn_trial(device, folder)
    X, y = trial.X, trial.y
    whole = StepwiseOLS(terms=list(TERMS)).fit(X, y)
    trial = replace(trial, n_terms=len(whole.terms_))
    scores = [
        score(Method("selected in each fold", "default", lambda: NamedStepwise(list(TERMS), report="none")), trial),
        score(Method("selected terms, fixed", "linear", lambda: fixed(whole.terms_)), trial),
        score(Method("n_flops alone", "baseline", lambda: fixed(("n_flops",))), trial),
        score(Method("all three", "baseline", lambda: fixed(TERMS)), trial),
    ]
    kept = set(whole.terms_)
    warned = any("collinear" in warning for warning in whole.report_.warnings)
    findings = (
        Finding("D3", device, "tensors and exactly one of FLOPs, parameters", float(is_expected(kept)), "flag"),
        Finding("D3", device, "warned of collinearity", float(warned), "flag"),
        Finding("D3", device, "leave one CNN out, terms fixed: MAPE", scores[1].mape),
        Finding("D3", device, "leave one CNN out, selection inside: MAPE", scores[0].mape),
    )
    return TaskResult(tuple(scores), findings, selection_notes(device, whole, X))


def fixed(terms: Sequence[str]) -> StepwiseOLS:
    """Least squares with these terms."""
    return StepwiseOLS(terms=list(terms), max_steps=0, report="none")


def is_expected(kept: set[str]) -> bool:
    """Whether the tensor count stayed and exactly one of the two collinear features."""
    return "n_tensors" in kept and len(kept & {"n_flops", "n_params"}) == 1


def selection_notes(device: str, whole: StepwiseOLS, rows: pd.DataFrame) -> tuple[str, ...]:
    """What was kept, the criterion, the correlation, the warnings."""
    correlation = float(rows["n_flops"].corr(rows["n_params"]))
    criterion = float(whole.path_["AIC"].iloc[-1])
    head = f"{device}: kept {{{', '.join(whole.terms_)}}}, AIC {criterion:.2f}; FLOPs and parameters correlate at {correlation:.4f}"
    return (head, *(f"{device}: {warning}" for warning in whole.report_.warnings))
