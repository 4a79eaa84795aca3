"""Tasks A1, A2, A3 and A8: matrix products, inside the measured sizes and beyond them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.datasets import read_open
from mlperf.models.validation.folds import Fold, leave_largest_out
from mlperf.studies.open_data.forms import LOCAL_AND_BEST, Form, methods, scored_by
from mlperf.studies.open_data.scoring.result import Finding, Score, TaskResult, figures_of
from mlperf.studies.open_data.scoring.trial import Trial, device_rows, score, seventy_thirty, shuffled_folds

GPUS = ("V100", "A100", "T4", "P4")
BOARDS = ("KNL", "1080Ti", "M40", "TitanX")
SIZES = ("m", "n", "k")
TERMS = ("m*n*k", "m*n", "m*k", "n*k", *SIZES)
BATCHED_SIZES = ("batch", *SIZES)
BATCHED_TERMS = (*(f"batch*{term}" for term in TERMS), "batch")
PRODUCT = Form(TERMS, SIZES, (*SIZES, *TERMS[:4]))
BATCHED = Form(BATCHED_TERMS, BATCHED_SIZES, (*BATCHED_SIZES, *BATCHED_TERMS[:4]))
TRANSPOSED = Form(TERMS, (*SIZES, "trans"), (*SIZES, "trans", *TERMS[:4]))
EXTRAPOLATING = ("WLS", "nonnegative", "ratio", "local", "boosted", "HGB")
BATCHED_TESTED = 2000

INSIDE = tuple((method, figure) for method in ("ratio", "local") for figure in ("mape", "q3"))


def linear_rows(device: str, folder: Path | None) -> pd.DataFrame:
    """Linear layers of one GPU, each size once."""
    return device_rows(read_open("neusight", "linear", folder), device, list(SIZES))


def inside_trial(device: str, folder: Path | None) -> Trial:
    """Random 70/30 split of linear layers."""
    rows = linear_rows(device, folder)
    return Trial("A1", device, rows[list(SIZES)], rows["time_s"].to_numpy(), seventy_thirty(len(rows)), len(TERMS))


def score_inside(device: str, folder: Path | None) -> TaskResult:
    """A1: random 70/30 split of linear layers."""
    found = scored_by(inside_trial, PRODUCT, INSIDE)(device, folder)
    return replace(found, findings=(*found.findings, gain_finding(device, gain(found.scores))))


def gain_finding(device: str, value: float) -> Finding:
    """How much less the default errs than the global weighted model."""
    return Finding("A1", device, "ratio: MAPE under WLS", value)


def gain(scores: Sequence[Score]) -> float:
    """1 - MAPE of the ratio form / MAPE of WLS."""
    by_method = {one.method: one.mape for one in scores}
    return 1.0 - by_method["ratio"] / by_method["WLS"]


def mean_gain(scores: Sequence[Score]) -> list[Finding]:
    """Mean over the devices of `gain`."""
    gains = [gain([one for one in scores if one.device == device]) for device in dict.fromkeys(one.device for one in scores)]
    return [gain_finding("mean", float(np.mean(gains)))]


def largest_products(X: pd.DataFrame) -> list[Fold]:
    """One fold: rows above the 80 % quantile of m n k test."""
    return leave_largest_out(X[list(SIZES)].prod(axis=1).to_numpy(dtype=float), 0.2)


def beyond_trial(device: str, folder: Path | None) -> Trial:
    """The largest products left out."""
    rows = linear_rows(device, folder)
    X = rows[list(SIZES)]
    return Trial("A2", device, X, rows["time_s"].to_numpy(), largest_products(X), len(TERMS))


def score_beyond(device: str, folder: Path | None) -> TaskResult:
    """A2: the largest products left out."""
    trial = beyond_trial(device, folder)
    scores = [
        score(method, trial) for method in methods(PRODUCT, "ratio", {"local": "local"}, EXTRAPOLATING, split=largest_products)
    ]
    compared = Finding("A2", device, "ratio: MAPE, not above WLS", scores[0].mape)
    findings = figures_of(scores, (("ratio", "mape"), ("ratio", "in_domain"), ("WLS", "mape")))
    return TaskResult(tuple(scores), (*findings, compared))


def batched_trial(device: str, folder: Path | None) -> Trial:
    """Batched products, most of them to learn from."""
    rows = device_rows(read_open("neusight", "bmm", folder), device, list(BATCHED_SIZES))
    folds = seventy_thirty(len(rows), BATCHED_TESTED)
    return Trial("A3", device, rows[list(BATCHED_SIZES)], rows["time_s"].to_numpy(), folds, len(BATCHED_TERMS))


def transposed_trial(device: str, folder: Path | None) -> Trial:
    """160 products with transposes a device."""
    columns = [*SIZES, "trans"]
    rows = device_rows(read_open("deepbench", "gemm", folder), device, columns)
    return Trial("A8", device, rows[columns], rows["time_s"].to_numpy(), shuffled_folds(len(rows)), len(TERMS))


score_batched = scored_by(batched_trial, BATCHED, LOCAL_AND_BEST)
score_transposed = scored_by(transposed_trial, TRANSPOSED, (("ratio", "mape"), ("local", "mape")))
"""Tasks A3 and A8."""
