"""Task B3: whole networks from multiply-accumulates and depth; shows why layer models are needed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.datasets import read_open
from mlperf.models.validation.folds import Fold
from mlperf.studies.open_data.forms import Form, bound
from mlperf.studies.open_data.result import TaskResult
from mlperf.studies.open_data.trial import Method, Trial, score

SERIES = ["group", "gpu", "cudnn"]
SUBJECTS = ("all networks", "without GoogLeNet")
GOOGLENET = "googlenet-v1"
FEATURES = ("macs", "depth")
FORM = Form(FEATURES, FEATURES, FEATURES)
LEAST_NETWORKS = 5
"""A series needs one network to leave out and more left than coefficients."""

PUBLISHED = {
    # Multiply-accumulates of one 224 x 224 image and layers with weights: Krizhevsky (2014), Szegedy et al. (2015), and He et al.
    # (2016), two papers, for the others.
    "alexnet": (0.72e9, 8),
    GOOGLENET: (1.5e9, 22),
    "vgg16": (15.3e9, 16),
    "vgg19": (19.6e9, 19),
    "resnet-18": (1.8e9, 18),
    "resnet-34": (3.6e9, 34),
    "resnet-50": (3.8e9, 50),
    "resnet-101": (7.6e9, 101),
    "resnet-152": (11.3e9, 152),
    "resnet-200": (15.0e9, 200),
}


def network_rows(folder: Path | None) -> pd.DataFrame:
    """Seconds of forward and backward of each network in each series, its two runs merged, with published features."""
    frame = read_open("cnn_benchmarks", "forward_backward", folder)
    means = frame.groupby([*SERIES, "cnn"], sort=True)[["forward_mean_s", "backward_mean_s"]].mean().reset_index()
    features = pd.DataFrame.from_dict(PUBLISHED, orient="index", columns=list(FEATURES)).astype(float)
    joined: pd.DataFrame = means.join(features, on="cnn", how="inner").reset_index(drop=True)
    return joined


def series_folds(rows: pd.DataFrame) -> list[Fold]:
    """Leave each network out, the other networks of its series alone to learn from."""
    folds = []
    for name, places in rows.groupby(SERIES, sort=True).indices.items():
        if len(places) >= LEAST_NETWORKS:
            folds += [Fold(f"{name} {rows['cnn'][place]}", np.setdiff1d(places, [place]), np.array([place])) for place in places]
    return folds


def score_whole_networks(subject: str, folder: Path | None) -> TaskResult:
    """Every series by itself."""
    rows = network_rows(folder)
    if subject != SUBJECTS[0]:
        rows = rows[rows["cnn"] != GOOGLENET].reset_index(drop=True)
    y = (rows["forward_mean_s"] + rows["backward_mean_s"]).to_numpy()
    trial = Trial("B3", subject, rows[list(FEATURES)], y, series_folds(rows), len(FEATURES))
    tried = (
        Method("nonnegative", "default", bound("nonnegative", FORM)),
        Method("WLS", "baseline", bound("WLS", FORM)),
        Method("OLS", "baseline", bound("OLS", FORM)),
    )
    return TaskResult(tuple(score(method, trial) for method in tried))
