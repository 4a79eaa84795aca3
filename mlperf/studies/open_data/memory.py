"""Task C12: which layouts fail, and how much memory the others take, from layouts that were tried."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.datasets.open.step_rows import tried_layouts
from mlperf.models.validation.folds import Fold
from mlperf.studies.open_data.scoring.result import NAN, Finding, TaskResult, percent
from mlperf.studies.open_data.scoring.trial import LeftOut, Trial, score_of
from mlperf.studies.open_data.steps import CHOICE_SPLITS
from mlperf.training.systems.memory_fit import LayoutMemory, fit_memory

RIGHT = "layouts told right"
BY = f"{RIGHT} by"
DEVICE_BYTES = 80e9
"""Of an H100."""
NOTES = (
    "bytes: fitted and judged on layouts that ran; failures: on all; 80 GB a device",
    "beside: all do as most of the training rows did (majority); those fail whose estimated bytes pass what is usable",
    "terms, the rule of layers and stages and the correction by neighbours were written down with these rows in view; neighbours"
    " correct only layouts that lie among the measured ones",
    "Brier score over that of the share of failed training rows, told of every layout",
)


def score_failures(subject: str, folder: Path | None) -> TaskResult:
    """C12: share of layouts told right, Brier score, error of the bytes of those that ran."""
    rows = tried_layouts(folder)
    failed, memory_bytes = rows["failed"].to_numpy(bool), rows["memory_bytes"].to_numpy(float)
    (fold,) = CHOICE_SPLITS[subject](rows)
    started = time.process_time()
    model = fit_memory(rows.iloc[fold.train].reset_index(drop=True), failed[fold.train], memory_bytes[fold.train], DEVICE_BYTES)
    spent = time.process_time() - started
    test = rows.iloc[fold.test].reset_index(drop=True)
    scored = score_bytes(subject, rows, fold, model, spent)
    found = failure_findings(subject, model, test, fold, failed)
    beside = ", ".join(
        f"{each.what.removeprefix(RIGHT).strip()} {percent(each.value)}" for each in found if each.what.startswith(BY)
    )
    return TaskResult(scored.scores, (*scored.findings, *found), (f"{subject}, layouts told right: {beside}", *NOTES))


def score_bytes(subject: str, rows: pd.DataFrame, fold: Fold, model: LayoutMemory, spent: float) -> TaskResult:
    """Bytes of the left-out layouts that ran, beside one factor on model and optimizer states."""
    ran = ~rows["failed"].to_numpy(bool)
    kept = Fold(fold.name, fold.train[ran[fold.train]], fold.test[ran[fold.test]])
    measured = rows["memory_bytes"].to_numpy(float)
    test = rows.iloc[kept.test].reset_index(drop=True)
    needed, states = model.needed_bytes(test), state_bytes(rows)
    factor = float(np.median(measured[kept.train] / states[kept.train]))
    wide = np.exp(1.96 * model.relative_std)
    trial = Trial("C12", subject, rows, measured, [kept], int(sum(cost > 0.0 for cost in model.costs.values())))
    unknown = np.full(len(test), NAN)
    inside, y = model.in_domain(test), measured[kept.test]
    own = LeftOut(needed, y, needed / wide, needed * wide, inside, True, spent, f"{model.neighbours} neighbours")
    thumb = LeftOut(factor * states[kept.test], y, unknown, unknown, inside, False, 0.0, "")
    scores = (score_of(own, "physical terms", "default", trial), score_of(thumb, "states times a factor", "baseline", trial))
    return TaskResult(
        scores,
        (
            *(Finding("C12", subject, f"{one.method}: MAPE of bytes", one.mape) for one in scores),
            Finding("C12", subject, "MAPE of bytes over that of the rule of thumb", scores[0].mape / scores[1].mape, "number"),
            Finding("C12", subject, "no negative cost", float(min(model.costs.values()) >= 0.0), "flag"),
        ),
    )


def failure_findings(subject: str, model: LayoutMemory, test: pd.DataFrame, fold: Fold, failed: BoolArray) -> tuple[Finding, ...]:
    """Shares told right by the model and its baselines, and the Brier score."""
    seen, true = failed[fold.train], failed[fold.test]
    told, share = model.failure(test), float(seen.mean())
    majority, over = np.full(len(true), share > 0.5), one_threshold(model, test)
    wrong = (1.0 - right(told > 0.5, true)) / (1.0 - right(majority, true))
    return (
        Finding("C12", subject, RIGHT, right(told > 0.5, true)),
        Finding("C12", subject, f"{BY} physics alone", right(model.physical_failure(test) > 0.5, true)),
        Finding("C12", subject, f"{BY} majority", right(majority, true)),
        Finding("C12", subject, f"{BY} estimated bytes alone", right(over, true)),
        Finding("C12", subject, "wrong answers over those of the majority", wrong, "number"),
        Finding("C12", subject, "Brier score", brier(told, true), "number"),
        Finding(
            "C12",
            subject,
            "Brier score over that of the share",
            brier(told, true) / brier(np.full(len(true), share), true),
            "number",
        ),
    )


def one_threshold(model: LayoutMemory, test: pd.DataFrame) -> BoolArray:
    """Whether estimated bytes pass what a device can use."""
    return model.needed_bytes(test) > model.capacity * model.device_bytes


def state_bytes(rows: pd.DataFrame) -> FloatArray:
    """16 bytes a parameter of the device's part: parameters, gradients, optimizer."""
    return np.asarray(16.0 * rows["n_params"] / (rows["tensor_parallel"] * rows["pipeline_parallel"]), np.float64)


def right(told: BoolArray, true: BoolArray) -> float:
    """Share of equal answers."""
    return float((told == true).mean())


def brier(told: FloatArray, true: BoolArray) -> float:
    """Mean squared distance of a probability from what happened."""
    return float(((told - true) ** 2).mean())
