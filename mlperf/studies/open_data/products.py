"""Rungs A1, A2, A3 and A8: matrix products, inside the measured sizes and beyond them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.datasets import read_open
from mlperf.models.validation.folds import Fold
from mlperf.studies.open_data.forms import Form, methods
from mlperf.studies.open_data.result import NAN, Climbed, Goal, Score, judged
from mlperf.studies.open_data.splits import device_rows, largest_left_out, seventy_thirty, shuffled_folds
from mlperf.studies.open_data.task import Rung
from mlperf.studies.open_data.trial import Limit, Trial, goals_of, score

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
FAMILY = ("ratio", "local", "boosted", "HGB")
LEAST_GAIN, MEAN_GAIN = 0.20, 0.25
BATCHED_TESTED = 2000

INSIDE = (
    Limit("ratio", "mape", (0.055, 0.063, 0.11, 0.185)),
    Limit("ratio", "q3", (0.075, 0.075, 0.15, 0.26)),
    Limit("local", "mape", (0.055, 0.063, 0.11, 0.185)),
    Limit("local", "q3", (0.075, 0.075, 0.15, 0.26)),
)
BEYOND = (Limit("ratio", "mape", (0.07, 0.06, 0.13, 0.30)), Limit("ratio", "in_domain", (0.0, 0.0, 0.0, 0.0)))
BATCHES = (Limit("local", "mape", (0.08, 0.11, 0.125, 0.08)), Limit("best", "mape", (0.065, 0.07, 0.10, 0.065)))
SMALL = (Limit("ratio", "mape", (0.07, 0.17, 0.13, 0.165)), Limit("local", "mape", (0.07, 0.17, 0.13, 0.165)))


def linear_rows(device: str, folder: Path | None) -> pd.DataFrame:
    """Linear layers of one GPU, each size once."""
    return device_rows(read_open("neusight", "linear", folder), device, list(SIZES))


def climb_inside(device: str, folder: Path | None) -> Climbed:
    """A1: random 70/30 split of linear layers."""
    rows = linear_rows(device, folder)
    trial = Trial("A1", device, rows[list(SIZES)], rows["time_s"].to_numpy(), seventy_thirty(len(rows)), len(TERMS))
    scores = [score(method, trial) for method in methods(PRODUCT, "ratio", {"local": "local"}, FAMILY)]
    return Climbed(tuple(scores), (*goals_of(scores, INSIDE, GPUS, device), gain_goal(scores)))


def gain_goal(scores: Sequence[Score]) -> Goal:
    """How much less the default errs than the global weighted model, and the least that was to be reached."""
    return judged("A1", scores[0].device, "ratio: MAPE under WLS", gain(scores), LEAST_GAIN, NAN)


def gain(scores: Sequence[Score]) -> float:
    """1 - MAPE of the ratio form / MAPE of WLS."""
    by_method = {one.method: one.mape for one in scores}
    return 1.0 - by_method["ratio"] / by_method["WLS"]


def mean_gain(scores: Sequence[Score]) -> list[Goal]:
    """Mean over the devices of `gain`."""
    gains = [gain([one for one in scores if one.device == device]) for device in dict.fromkeys(one.device for one in scores)]
    return [judged("A1", "mean", "ratio: MAPE under WLS", float(np.mean(gains)), MEAN_GAIN, NAN)]


def largest_products(X: pd.DataFrame) -> list[Fold]:
    """One fold: rows above the 80 % quantile of m n k test."""
    return largest_left_out(X[list(SIZES)].prod(axis=1).to_numpy(dtype=float))


def climb_beyond(device: str, folder: Path | None) -> Climbed:
    """A2: the largest products left out."""
    rows = linear_rows(device, folder)
    X = rows[list(SIZES)]
    trial = Trial("A2", device, X, rows["time_s"].to_numpy(), largest_products(X), len(TERMS))
    scores = [
        score(method, trial) for method in methods(PRODUCT, "ratio", {"local": "local"}, EXTRAPOLATING, split=largest_products)
    ]
    weighted = next(one for one in scores if one.method == "WLS")
    no_worse = judged("A2", device, "ratio: MAPE, not above WLS", scores[0].mape, NAN, weighted.mape)
    return Climbed(tuple(scores), (*goals_of(scores, BEYOND, GPUS, device), no_worse))


def climb_batched(device: str, folder: Path | None) -> Climbed:
    """A3: batched products."""
    rows = device_rows(read_open("neusight", "bmm", folder), device, list(BATCHED_SIZES))
    folds = seventy_thirty(len(rows), BATCHED_TESTED)
    trial = Trial("A3", device, rows[list(BATCHED_SIZES)], rows["time_s"].to_numpy(), folds, len(BATCHED_TERMS))
    scores = [score(method, trial) for method in methods(BATCHED, "ratio", {"local": "local"}, FAMILY)]
    return Climbed(tuple(scores), tuple(goals_of(scores, BATCHES, GPUS, device)))


def climb_small(device: str, folder: Path | None) -> Climbed:
    """A8: 160 products with transposes a device."""
    columns = [*SIZES, "trans"]
    rows = device_rows(read_open("deepbench", "gemm", folder), device, columns)
    trial = Trial("A8", device, rows[columns], rows["time_s"].to_numpy(), shuffled_folds(len(rows)), len(TERMS))
    scores = [score(method, trial) for method in methods(TRANSPOSED, "ratio", {"local": "local"}, FAMILY)]
    return Climbed(tuple(scores), tuple(goals_of(scores, SMALL, BOARDS, device)))


SPLIT = "70/30 by numpy RandomState(0).permutation; every size is a group"
PRODUCTS = (
    Rung(
        "A1",
        "A local model beats the global one inside the measured sizes",
        (("neusight", "linear"),),
        SPLIT,
        GPUS,
        climb_inside,
        mean_gain,
    ),
    Rung(
        "A2",
        "The default is as good as the global model beyond the largest sizes",
        (("neusight", "linear"),),
        "rows above the 80 % quantile of m n k left out, and for the choice of the best so again inside the training rows",
        GPUS,
        climb_beyond,
    ),
    Rung("A3", "Batched products", (("neusight", "bmm"),), f"{SPLIT}; first {BATCHED_TESTED} test rows", GPUS, climb_batched),
    Rung(
        "A8",
        "Few products, transposes",
        (("deepbench", "gemm"),),
        "10 folds, shuffled, seed 0; every product is a group",
        BOARDS,
        climb_small,
    ),
)
