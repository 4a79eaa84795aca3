"""Parts of a study that compare sweeps: speed-up over scalar code, new sizes, special and general models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError
from mlperf.core.progress import tracked
from mlperf.models.validation.scores import r2, rank_correlation, relative_errors
from mlperf.studies.kernels.feature_sets import kernel_features, varying
from mlperf.studies.kernels.published import published_times
from mlperf.studies.kernels.sizes import SizeScore, size_score, size_series
from mlperf.studies.kernels.speedup import SpeedupScore, paired_rows, speedup_pairs, speedup_score
from mlperf.studies.kernels.tables.kernel_times import KernelTimes
from mlperf.studies.kernels.transfer import AXES, GENERAL_SETS, TransferScore, comparable, transfer_scores

SIZE_LEARNERS = ("linear", "forest", "boosting")
SPEEDUP_SETS = ("swc-s", "swc-s + swc-o")


def published_row(rows: KernelTimes) -> Mapping[str, float]:
    """What the paper's printed equation makes of these rows; empty where counts are missing."""
    try:
        predicted = published_times(rows.frame)
    except DataError:
        return {}
    errors = relative_errors(predicted, rows.time_s)
    return {
        "r2": r2(predicted, rows.time_s),
        "mape": errors.mape,
        "rank": rank_correlation(predicted, rows.time_s),
        "nonpositive_share": float(np.mean(predicted <= 0)),
    }


def speedups(times: KernelTimes, learner_name: str, n_folds: int, seed: int, notes: list[str]) -> tuple[SpeedupScore, ...]:
    """Every vectorising build against scalar code, by source alone and with the compiled loops."""
    pairs = speedup_pairs(times)
    if not pairs:
        notes.append("speed-up: no scalar build beside a vectorising one in the table")
    scores = []
    for vector, scalar in tracked(pairs, "builds compared with scalar code"):
        fast, slow = paired_rows(times, vector, scalar)
        for features in SPEEDUP_SETS:
            X = columns_or_none(fast, features)
            if X is not None:
                names = (vector.build, scalar.build)
                scores.append(speedup_score(fast, slow, names, features, X, learner_name, n_folds=n_folds, seed=seed))
    return tuple(scores)


def columns_or_none(rows: KernelTimes, features: str) -> pd.DataFrame | None:
    """Columns of a set; None where the table cannot give them."""
    try:
        return varying(kernel_features(rows, features))
    except DataError:
        return None


def sizes(times: KernelTimes, learners: Sequence[str], seed: int, notes: list[str]) -> tuple[SizeScore, ...]:
    """Every series of sizes, the largest left out."""
    series = size_series(times)
    if not series:
        notes.append("new size: one size in the table, not estimated")
    scores = []
    for sweeps in tracked(series, "series of sizes"):
        for features in ("swc-s", "swc-s + swc-o"):
            if columns_or_none(times.sweep(sweeps[-1]), features) is not None:
                scores += [size_score(times, sweeps, features, name, seed=seed) for name in learners or SIZE_LEARNERS]
    return tuple(scores)


def generality(times: KernelTimes, learner_name: str, seed: int, notes: list[str]) -> tuple[TransferScore, ...]:
    """Special and general models over builds, and over machines."""
    scores: list[TransferScore] = []
    for axis in tracked(AXES, "special and general models"):
        rows = comparable(times, axis)
        if rows is None:
            notes.append(f"one {axis}: not estimated")
            continue
        for features in GENERAL_SETS:
            if columns_or_none(rows, features) is not None:
                scores += transfer_scores(rows, axis, features, learner_name, seed=seed)
    return tuple(scores)
