"""Is vectorising worth it? The speed-up over scalar code of the same pattern, and how often the answer is right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.shown import Shown
from mlperf.models.validation.folds import grouped_folds
from mlperf.models.validation.left_out import left_out
from mlperf.models.validation.scores import r2, rank_correlation, relative_errors
from mlperf.studies.kernels.learners import learner
from mlperf.studies.kernels.tables.kernel_times import KernelTimes, Setting

NAN = float("nan")
SCALAR_WORDS = ("scalar", "no-tree-vectorize", "novec")
KEY = ["pattern", "offset_bytes"]


@dataclass(frozen=True, slots=True, eq=False)
class SpeedupScore(Shown):
    """Speed-up of one build over scalar code on left-out patterns.

    Attributes
    ----------
    machine, build, scalar_build : str
        Where, and what is compared.
    features, learner : str
        What the model sees, and what it is.
    n_rows : int
        Patterns measured with both builds.
    r2, mape, rank : float
        Of the predicted speed-up.
    right_share : float
        Share of right decisions: predicted and measured on the same side of 1.
    always_share : float
        The same for always vectorising.
    ceiling_share : float
        The same for one half of the repeats as the prediction of the other; NaN without repeats.
    slower_share : float
        Share of patterns that vector code makes slower.
    lost_time_share : float
        Time lost by following the model, as a share of always choosing right.
    lost_always_share : float
        The same for always vectorising.
    """

    machine: str
    build: str
    scalar_build: str
    features: str
    learner: str
    n_rows: int
    r2: float
    mape: float
    rank: float
    right_share: float
    always_share: float
    ceiling_share: float
    slower_share: float
    lost_time_share: float
    lost_always_share: float


def is_scalar(build: str) -> bool:
    """Whether a build's name says that it does not vectorise."""
    return any(word in build for word in SCALAR_WORDS)


def speedup_pairs(times: KernelTimes) -> list[tuple[Setting, Setting]]:
    """Each vectorising sweep with the scalar one of the same machine, family, size and alignment."""
    pairs = []
    for one in times.settings:
        alike = [
            other
            for other in times.settings
            if is_scalar(other.build)
            and (other.machine, other.pattern_set, other.N, other.offset_bytes)
            == (one.machine, one.pattern_set, one.N, one.offset_bytes)
        ]
        if alike and not is_scalar(one.build):
            pairs.append((one, alike[0]))
    return pairs


def paired_rows(times: KernelTimes, vector: Setting, scalar: Setting) -> tuple[KernelTimes, pd.DataFrame]:
    """Rows of the vectorising sweep that have a scalar twin, and the twin's times beside them.

    Returns
    -------
    tuple
        The rows, and a frame with ``time_s``, ``half_a_s``, ``half_b_s`` of scalar code in the same order.
    """
    fast = times.sweep(vector)
    slow = times.sweep(scalar).frame.set_index(KEY)[["time_s", "half_a_s", "half_b_s"]]
    keys = pd.MultiIndex.from_frame(fast.frame[KEY])
    both = keys.isin(slow.index)
    return fast.rows(both), slow.loc[keys[both]].reset_index(drop=True)


def speedup_score(
    fast: KernelTimes,
    slow: pd.DataFrame,
    names: tuple[str, str],
    features: str,
    X: pd.DataFrame,
    learner_name: str,
    *,
    n_folds: int = 10,
    seed: int = 0,
) -> SpeedupScore:
    """Predict the speed-up of left-out patterns.

    Parameters
    ----------
    fast : KernelTimes
        Rows of the vectorising build.
    slow : DataFrame
        Times of scalar code of the same patterns, as `paired_rows`.
    names : tuple of two str
        The builds.
    features : str
        Name of the feature set.
    X : DataFrame, shape (n_rows, n_columns)
        Its columns.
    learner_name : str
        Of `LEARNERS`.
    """
    vector_s, scalar_s = fast.time_s, slow["time_s"].to_numpy(float)
    speedup = scalar_s / vector_s
    folds = grouped_folds(fast.groups, n_folds, seed)
    answers = left_out(
        lambda: learner(learner_name).make(0, seed, X.shape), X, speedup, fast.groups, folds, domain=False, equal_rows=True
    )
    chosen = answers.predicted > 1.0
    best = np.minimum(vector_s, scalar_s).sum()
    return SpeedupScore(
        machine=str(fast.frame["machine"].iloc[0]),
        build=names[0],
        scalar_build=names[1],
        features=features,
        learner=learner_name,
        n_rows=len(speedup),
        r2=r2(answers.predicted, speedup),
        mape=relative_errors(answers.predicted, speedup).mape,
        rank=rank_correlation(answers.predicted, speedup),
        right_share=float(np.mean(chosen == (speedup > 1.0))),
        always_share=float(np.mean(speedup > 1.0)),
        ceiling_share=decision_ceiling(fast.frame, slow),
        slower_share=float(np.mean(speedup < 1.0)),
        lost_time_share=float(np.where(chosen, vector_s, scalar_s).sum() / best - 1.0),
        lost_always_share=float(vector_s.sum() / best - 1.0),
    )


def decision_ceiling(fast: pd.DataFrame, slow: pd.DataFrame) -> float:
    """How often two halves of the repeats agree on which code is faster; NaN without repeats."""
    first: FloatArray = (slow["half_a_s"].to_numpy(float) / fast["half_a_s"].to_numpy(float)) - 1.0
    second: FloatArray = (slow["half_b_s"].to_numpy(float) / fast["half_b_s"].to_numpy(float)) - 1.0
    known = np.isfinite(first) & np.isfinite(second)
    return float(np.mean(np.sign(first[known]) == np.sign(second[known]))) if known.any() else NAN
