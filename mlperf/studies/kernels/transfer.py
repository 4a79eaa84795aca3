"""Special and general models: what it costs to ask one model for every compiler, or for a machine it never saw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.shown import Shown, records_frame
from mlperf.models.validation.folds import Fold, grouped_folds
from mlperf.models.validation.left_out import LeftOutRows, left_out
from mlperf.models.validation.scores import r2, rank_correlation, relative_errors
from mlperf.studies.kernels.feature_sets import kernel_features, varying
from mlperf.studies.kernels.learners import learner
from mlperf.studies.kernels.tables.kernel_times import SETTING, KernelTimes

AXES = ("build", "machine")
GENERAL_SETS = ("swc-s", "swc-o inner", "swc-s + swc-o")
"""Sets whose columns mean the same whatever the compiler; counts by mnemonic do not."""
WAYS = ("special", "general", "general, unseen")
CALIBRATION_ROWS = 5


@dataclass(frozen=True, slots=True, eq=False)
class TransferScore(Shown):
    """One model asked for one build or machine; the response is the time per execution of the innermost statement.

    Over machines it is in clock cycles where every machine's clock is known: what is left is what caches and pipelines make.

    Attributes
    ----------
    axis, left_out : str
        ``"build"`` or ``"machine"``, and which one is asked for.
    features, learner : str
        What the model sees, and what it is.
    way : str
        ``"special"``: trained on other kernels of the same build; ``"general"``: on other kernels of every build;
        ``"general, unseen"``: on other kernels of the other builds only.
    n_train, n_rows : int
        Rows of a fit; kernels asked for.
    r2, mape, rank, bias : float
        Of left-out rows; ``bias`` is the mean signed relative error.
    calibrated_mape : float
        MAPE after one factor from a few rows, mean over draws of these rows.
    in_domain : float
        Share of rows that the model says it may be asked for.
    """

    axis: str
    left_out: str
    features: str
    learner: str
    way: str
    n_train: int
    n_rows: int
    r2: float
    mape: float
    rank: float
    bias: float
    calibrated_mape: float
    in_domain: float


def comparable(times: KernelTimes, axis: str) -> KernelTimes | None:
    """Rows in which every kernel is measured at each of the values of ``axis``; None with fewer than two values.

    Of several families and sizes the one with the most values is taken, then the one with the most rows.
    """
    # Families of one rule go by several names in tables of several origins: over machines, patterns decide.
    free = {axis, "pattern_set"} if axis == "machine" else {axis}
    fixed = [name for name in SETTING if name not in free]
    once = (
        times.frame.drop_duplicates(["pattern", *(name for name in SETTING if name != "pattern_set")])
        if axis == "machine"
        else times.frame
    )
    best, score = None, (0, 0)
    for _, rows in once.groupby(fixed, sort=False):
        found = (int(rows[axis].nunique()), len(rows))
        if found[0] > 1 and found > score:
            best, score = rows, found
    if best is None:
        return None
    common = best.groupby("pattern")[axis].nunique()
    kept = best["pattern"].isin(common.index[common == score[0]])
    return times.rows(best.index[kept.to_numpy()].tolist())


def transfer_scores(
    times: KernelTimes,
    axis: str,
    features: str,
    learner_name: str,
    *,
    n_folds: int = 5,
    seed: int = 0,
) -> tuple[TransferScore, ...]:
    """Special, general and general-unseen models of one feature set.

    Kernels asked for are never among the training kernels, twins included, whatever the way: the ways differ in the builds alone.

    Parameters
    ----------
    times : KernelTimes
        As `comparable`.
    axis : {"build", "machine"}
    features, learner_name : str
        Of `FEATURE_SETS` and `LEARNERS`.
    n_folds, seed : int
        Of the folds over kernels.
    """
    X, y = varying(general_columns(times, axis, features)), response(times, axis)
    labels = times.frame[axis].to_numpy()
    kernel_folds = grouped_folds(times.groups, n_folds, seed)
    # The general model of a fold is one and the same whatever build is asked for.
    every = {WAYS[1]: answered(X, y, times, kernel_folds, learner_name, seed)}
    scores = []
    for value in dict.fromkeys(labels):
        own = labels == value
        for way, trains in zip(WAYS, (own, np.ones(len(own), dtype=bool), ~own), strict=True):
            folds = [Fold(one.name, one.train[trains[one.train]], one.test[own[one.test]]) for one in kernel_folds]
            answers = every.get(way) or answered(X, y, times, folds, learner_name, seed)
            about = (axis, str(value), features, learner_name, way, max(len(one.train) for one in folds))
            scores.append(scored(about, answers, y, own, seed))
    return tuple(scores)


def response(times: KernelTimes, axis: str) -> FloatArray:
    """Time per iteration in ns; over machines in clock cycles where every machine's clock is known, shape (n_rows,)."""
    each = times.time_s / times.iterations
    clock = np.array([times.machines[str(name)].clock_hz for name in times.frame["machine"]], dtype=float)
    return each * clock if axis == "machine" and np.isfinite(clock).all() else 1e9 * each


def answered(
    X: pd.DataFrame, y: FloatArray, times: KernelTimes, folds: Sequence[Fold], learner_name: str, seed: int
) -> LeftOutRows:
    """Left-out answers of one way of training."""
    shape = (min(len(one.train) for one in folds), X.shape[1])
    return left_out(lambda: learner(learner_name).make(0, seed, shape), X, y, times.groups, folds, equal_rows=True)


def scored(
    about: tuple[str, str, str, str, str, int], answers: LeftOutRows, y: FloatArray, own: BoolArray, seed: int
) -> TransferScore:
    """Figures of the rows of one build or machine; ``about`` are the fields up to ``n_train``."""
    predicted, measured = answers.predicted[own], y[own]
    errors = relative_errors(predicted, measured)
    return TransferScore(
        *about,
        n_rows=int(own.sum()),
        r2=r2(predicted, measured),
        mape=errors.mape,
        rank=rank_correlation(predicted, measured),
        bias=errors.bias,
        calibrated_mape=calibrated(predicted, measured, seed),
        in_domain=float(answers.in_domain[own].mean()),
    )


def general_columns(times: KernelTimes, axis: str, features: str) -> pd.DataFrame:
    """Columns of a set; machine features beside them where machines differ."""
    columns = kernel_features(times, features)
    if axis != "machine":
        return columns
    machines = pd.DataFrame([times.machines[str(name)].terms() for name in times.frame["machine"]])
    return pd.concat([columns, machines], axis=1)


def calibrated(predicted: FloatArray, measured: FloatArray, seed: int, n_draws: int = 20) -> float:
    """MAPE after multiplying by the mean ratio of a few rows, mean over draws of these rows; they are not scored."""
    rng, errors = np.random.default_rng(seed), []
    for _ in range(n_draws):
        order = rng.permutation(len(measured))
        told, asked = order[:CALIBRATION_ROWS], order[CALIBRATION_ROWS:]
        if len(asked) == 0:
            return float("nan")
        ratio = np.maximum(measured[told] / np.maximum(predicted[told], np.finfo(float).tiny), np.finfo(float).tiny)
        errors.append(relative_errors(np.exp(np.log(ratio).mean()) * predicted[asked], measured[asked]).mape)
    return float(np.mean(errors))


def price_of_generality(scores: Sequence[TransferScore]) -> pd.DataFrame:
    """Means over builds (machines): one line a feature set, learner and way, with the rise of MAPE over the special model."""
    frame = records_frame(TransferScore, scores)
    if frame.empty:
        return pd.DataFrame(
            columns=["axis", "features", "learner", "way", "n_train", "r2", "mape", "rank", "calibrated_mape", "rise_of_mape"]
        )
    keys = ["axis", "features", "learner", "way"]
    means = frame.groupby(keys, sort=False)[["n_train", "r2", "mape", "rank", "calibrated_mape"]].mean().reset_index()
    special = means[means["way"] == WAYS[0]].set_index(keys[:3])["mape"]
    base = special.reindex(pd.MultiIndex.from_frame(means[keys[:3]])).to_numpy(float)
    return means.assign(n_train=means["n_train"].round().astype(int), rise_of_mape=means["mape"].to_numpy(float) / base - 1.0)
