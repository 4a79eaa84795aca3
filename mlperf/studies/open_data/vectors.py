"""Task A4: memory-bound operators are linear in the number of elements."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlperf.datasets import read_open
from mlperf.models.validation.scores import adjusted_r2
from mlperf.studies.open_data.forms import MAKERS, Form, methods
from mlperf.studies.open_data.scoring.result import Finding, Score, TaskResult
from mlperf.studies.open_data.scoring.trial import Trial, device_rows, score, seventy_thirty

SHAPE = ("rows", "columns")
FORM = Form(("rows*columns",), SHAPE, (*SHAPE, "rows*columns"))
FAMILY, INNER_FOLDS = ("WLS", "ratio", "boosted"), 3


def score_operators(device: str, folder: Path | None) -> TaskResult:
    """One fit an operator."""
    scores: list[Score] = []
    findings: list[Finding] = []
    for operation, rows in operator_rows(device, folder).items():
        found, fitted_r2 = score_operation(device, operation, rows)
        scores += found
        findings.append(Finding("A4", device, f"{operation}: adjusted R² of OLS on its training rows", fitted_r2, "number"))
        findings += [Finding("A4", device, f"{operation}: WLS MAPE", one.mape) for one in found if one.method == "WLS"]
    return TaskResult(tuple(scores), tuple(findings))


def operation_trial(device: str, operation: str, rows: pd.DataFrame) -> Trial:
    """Random 70/30 split of one operator's rows."""
    y, folds = rows["time_s"].to_numpy(), seventy_thirty(len(rows))
    return Trial("A4", device, rows[list(SHAPE)], y, folds, 1, part=operation)


def operator_rows(device: str, folder: Path | None) -> dict[str, pd.DataFrame]:
    """Each operator's rows, every shape once."""
    frame = device_rows(read_open("neusight", "vector_ops", folder), device)
    return {
        str(name): rows.drop_duplicates(subset=list(SHAPE)).reset_index(drop=True)
        for name, rows in frame.groupby("operation", sort=True)
    }


def score_operation(device: str, operation: str, rows: pd.DataFrame) -> tuple[list[Score], float]:
    """Scores of one operator, and adjusted R² of OLS where it was fitted."""
    trial = operation_trial(device, operation, rows)
    X, y, fold = trial.X, trial.y, trial.folds[0]
    scores = [score(method, trial) for method in methods(FORM, "WLS", family=FAMILY, n_folds=INNER_FOLDS)]
    ols = MAKERS["OLS"](FORM).fit(X.iloc[fold.train], y[fold.train])
    return scores, adjusted_r2(ols.predict(X.iloc[fold.train]), y[fold.train], 1)
