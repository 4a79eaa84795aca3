"""A size that nobody measured: trained on the smaller sizes of a sweep, asked for the largest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.shown import Shown
from mlperf.models.validation.scores import r2, rank_correlation, relative_errors
from mlperf.studies.kernels.feature_sets import kernel_features, varying
from mlperf.studies.kernels.learners import learner
from mlperf.studies.kernels.tables.kernel_times import KernelTimes, Setting

CLIP = 4.0
"""Predictions stay within this factor of the trained range; those that had to be cut are flagged."""


@dataclass(frozen=True, slots=True, eq=False)
class SizeScore(Shown):
    """One learner asked for a size it had not seen; the response is the time per execution of the innermost statement.

    Attributes
    ----------
    machine, build, features, learner : str
        The sweep, what the model sees, and what it is.
    trained_sizes : tuple of int
        N of the training rows.
    size : int
        N asked for.
    n_rows : int
        Kernels asked for.
    r2, mape, rank, bias : float
        Of the time per iteration; ``bias`` is the mean signed relative error.
    clipped_share : float
        Share of predictions that were cut at the trained range times a factor.
    in_domain : float
        Share of rows that the model says it may be asked for.
    """

    machine: str
    build: str
    features: str
    learner: str
    trained_sizes: tuple[int, ...]
    size: int
    n_rows: int
    r2: float
    mape: float
    rank: float
    bias: float
    clipped_share: float
    in_domain: float


def clipped(predicted: FloatArray, trained: FloatArray, factor: float = CLIP) -> tuple[FloatArray, BoolArray]:
    """Predictions within the trained range times a factor, and which of them had to be cut, shape (n_rows,)."""
    low, high = float(trained.min()) / factor, float(trained.max()) * factor
    kept = np.clip(predicted, low, high)
    return kept, np.asarray(kept != predicted)


def size_series(times: KernelTimes) -> list[tuple[Setting, ...]]:
    """Sweeps that differ in N only, ascending, two or more of them."""
    series: dict[tuple[Any, ...], list[Setting]] = {}
    for one in times.settings:
        series.setdefault((one.machine, one.pattern_set, one.build, one.offset_bytes), []).append(one)
    return [tuple(sorted(found, key=lambda one: one.N)) for found in series.values() if len(found) > 1]


def size_score(times: KernelTimes, sweeps: Sequence[Setting], features: str, learner_name: str, *, seed: int = 0) -> SizeScore:
    """Train on all sizes but the largest, predict the largest.

    Parameters
    ----------
    times : KernelTimes
        The table.
    sweeps : sequence of Setting
        As `size_series`.
    features, learner_name : str
        Of `FEATURE_SETS` and `LEARNERS`.
    """
    train = times.rows(np.isin(times.frame.index, [row for one in sweeps[:-1] for row in rows_of(times, one)]))
    test = times.sweep(sweeps[-1])
    known = varying(kernel_features(train, features))
    asked = kernel_features(test, features).reindex(columns=known.columns, fill_value=0.0)
    y, truth = train.time_s / train.iterations, test.time_s / test.iterations
    model: Any = learner(learner_name).make(0, seed, known.shape).fit(known, y)
    predicted, cut = clipped(np.asarray(model.predict(asked), float), y)
    errors = relative_errors(predicted, truth)
    return SizeScore(
        machine=sweeps[-1].machine,
        build=sweeps[-1].build,
        features=features,
        learner=learner_name,
        trained_sizes=tuple(one.N for one in sweeps[:-1]),
        size=sweeps[-1].N,
        n_rows=len(truth),
        r2=r2(predicted, truth),
        mape=errors.mape,
        rank=rank_correlation(predicted, truth),
        bias=errors.bias,
        clipped_share=float(cut.mean()),
        in_domain=float(np.mean(model.in_domain(asked))),
    )


def rows_of(times: KernelTimes, setting: Setting) -> list[int]:
    """Row numbers of one sweep."""
    names = ("machine", "pattern_set", "build", "N", "offset_bytes")
    here = np.logical_and.reduce([(times.frame[name] == getattr(setting, name)).to_numpy() for name in names])
    return np.flatnonzero(here).tolist()
