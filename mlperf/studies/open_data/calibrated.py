"""Task C13: a foreign predictor that is good already, calibrated on the rows that are left: does it help, do intervals hold."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.datasets import read_open
from mlperf.models.validation.folds import Fold
from mlperf.planning.calibration.foreign import LEVEL, apply_calibration, calibrate_tables
from mlperf.studies.open_data.scoring.result import NAN, Finding, Score, TaskResult, figures_of
from mlperf.studies.open_data.scoring.trial import LeftOut, Trial, score_of

SUBJECT = "SimuMax A100"
KEYS = ("model", "n_micro_batches", "parallel")
UNCALIBRATED, ONE_FACTOR, PER_MODEL, PER_LAYOUT = "uncalibrated", "one factor", "by model", "by model, parallel"
METHODS = ((PER_LAYOUT, "default", ("model", "parallel")), (PER_MODEL, "other", ("model",)), (ONE_FACTOR, "other", ()))
LAYOUT_OUT = "layouts left out"


def score_calibration(subject: str, folder: Path | None) -> TaskResult:
    """Every row left out; then every layout of a model, whose rows are nearly repetitions."""
    rows = predictor_rows(folder)
    each = [Fold(f"row {at + 1}", np.delete(np.arange(len(rows)), at), np.array([at])) for at in range(len(rows))]
    trial = Trial("C13", subject, rows, rows["measured"].to_numpy(float), each, 1)
    scores = [calibrated_score(trial, rows, name, role, by) for name, role, by in METHODS]
    scores.append(plain_score(trial, rows))
    inside = round(scores[0].coverage * len(rows))
    layouts = rows.groupby(["model", "parallel"], sort=False).indices.values()
    whole = [Fold("layout", np.setdiff1d(np.arange(len(rows)), out), np.asarray(out)) for out in layouts]
    parted = Trial("C13", subject, rows, trial.y, whole, 1, part=LAYOUT_OUT)
    unseen = calibrated_score(parted, rows, PER_LAYOUT, "default", ("model", "parallel"))
    findings = (
        *figures_of(scores, [(one.method, "mape") for one in scores]),
        Finding("C13", subject, f"{PER_LAYOUT}: rows of {len(rows)} inside their 95 % interval", float(inside), "number"),
        Finding("C13", subject, f"{LAYOUT_OUT}: MAPE", unseen.mape),
    )
    return TaskResult((*scores, unseen), findings, notes())


def predictor_rows(folder: Path | None) -> pd.DataFrame:
    """Keys, ``predicted`` over measured time, and ``measured``, which is 1: only ratios are published."""
    frame = read_open("simumax", "a100_pcie", folder)
    ratio = 1.0 / (1.0 + frame["tflops_error_percent"].to_numpy(float) / 100.0)
    keys: pd.DataFrame = frame[list(KEYS)]
    return keys.assign(predicted=ratio, measured=1.0)


def calibrated_score(trial: Trial, rows: pd.DataFrame, name: str, role: str, by: tuple[str, ...]) -> Score:
    """What ``mlperf calibrate`` makes of the left-out rows, the choice of groups repeated for each."""
    started, found = time.process_time(), []
    for fold in trial.folds:
        train, test = rows.iloc[fold.train], rows.iloc[fold.test]
        made = calibrate_tables(train.drop(columns="measured"), train.drop(columns="predicted"), on=KEYS, by=by)
        found.append(apply_calibration(made, test.drop(columns="measured"), level=LEVEL).rows)
    told = pd.concat(found)
    columns = ("calibrated_predicted", "run_lower_predicted", "run_upper_predicted")
    guess, lower, upper = (told[column].to_numpy(float) for column in columns)
    measured = rows["measured"].to_numpy(float)[np.concatenate([fold.test for fold in trial.folds])]
    inside, spent = told["in_domain"].to_numpy(bool), time.process_time() - started
    return score_of(LeftOut(guess, measured, lower, upper, inside, True, spent, ""), name, role, trial)


def plain_score(trial: Trial, rows: pd.DataFrame) -> Score:
    """The predictor as it is."""
    guess, unknown = rows["predicted"].to_numpy(float), np.full(len(rows), NAN)
    answers = LeftOut(guess, trial.y, unknown, unknown, np.ones(len(rows), bool), False, 0.0, "")
    return score_of(answers, UNCALIBRATED, "baseline", trial)


def notes() -> tuple[str, ...]:
    """What the rows are."""
    return (
        "rows that differ only in the number of micro-batches are nearly repetitions of each other, so a factor of their own is "
        "worth more here than for a layout that nobody ran: see the layouts left out",
    )
