"""A model of kernels nobody has run: trained on a sweep, asked for patterns, with interval and flag."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError, DomainError, UsageError
from mlperf.core.json_fields import Fields
from mlperf.core.provenance import provenance
from mlperf.core.shown import Shown, plain
from mlperf.datasets.campaigns.kernel_times import UNNAMED
from mlperf.features.source.caches import CacheLevel
from mlperf.models.regressor import fit_in_groups
from mlperf.models.storage.store import envelope, model_from_dict, model_to_dict
from mlperf.models.uncertainty.intervals import Interval
from mlperf.models.validation.folds import grouped_folds
from mlperf.models.validation.scores import coverage, r2, rank_correlation, relative_errors
from mlperf.studies.kernels.estimates import EstimateScore, estimate
from mlperf.studies.kernels.feature_sets import FEATURE_SETS, kernel_features, varying
from mlperf.studies.kernels.learners import learner
from mlperf.studies.kernels.sizes import CLIP, clipped
from mlperf.studies.kernels.tables.kernel_times import KernelTimes
from mlperf.studies.kernels.tables.machines import MachineFacts

WHOLE = ("n_rows", "n_columns", "n_distinct", "n_terms")
WORDS = ("features", "learner")


def machine_from_dict(value: Any, path: str) -> MachineFacts:
    """Machine facts as `mlperf.core.shown.plain` wrote them."""
    with Fields(value, path) as fields:
        caches = tuple(cache_from_dict(one, f"{path}.caches[{place}]") for place, one in enumerate(fields.raw("caches")))
        return MachineFacts(
            name=fields.text("name"),
            caches=caches,
            last_cache_bytes=fields.integer("last_cache_bytes", lower=0),
            clock_hz=fields.number("clock_hz", finite=False),
            clock_source=fields.text("clock_source"),
            source=fields.text("source"),
        )


def cache_from_dict(value: Any, path: str) -> CacheLevel:
    """Read one cache level back."""
    with Fields(value, path) as fields:
        sizes = {name: fields.integer(name, lower=0) for name in ("size_bytes", "line_bytes", "ways")}
        return CacheLevel(name=fields.text("name"), **sizes)


def score_from_dict(value: Any, path: str) -> EstimateScore | None:
    """A score; null means that none was computed."""
    if value is None:
        return None
    with Fields(value, path) as fields:
        known: dict[str, Any] = {name: fields.text(name) for name in WORDS}
        known |= {name: fields.integer(name, lower=0) for name in WHOLE}
        rest = [field.name for field in dataclasses.fields(EstimateScore) if field.name not in known]
        known |= {name: fields.number(name, finite=False) for name in rest}
        return EstimateScore(**known)


STORED = ("linear", "boosting", "linear x boosting")
"""Learners that the model file can hold: plain numbers, no pickles."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KernelModel(Shown):
    """Time per execution of the innermost statement, from a feature set.

    Attributes
    ----------
    features, learner : str
        Names of the feature set and of the learner.
    columns : tuple of str
        What the estimator sees.
    estimator : estimator
        Fitted; in nanoseconds per iteration.
    range_ns : tuple of float
        Least and largest measured time per iteration.
    machine : MachineFacts
        Whose caches the features assume.
    score : EstimateScore or None
        Of left-out kernels of the same table.
    provenance : mapping
        Data SHA-256, versions, host, command.
    builds : tuple of str
        Compilers with their options whose kernels it learnt from; empty in files of releases that did not record them.
    """

    features: str
    learner: str
    columns: tuple[str, ...]
    estimator: Any
    range_ns: tuple[float, float]
    machine: MachineFacts
    score: EstimateScore | None
    provenance: Mapping[str, Any]
    builds: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """What it is and how it did on left-out kernels."""
        score = {} if self.score is None else {"cv_r2": self.score.cv_r2, "mape": self.score.mape, "rank": self.score.rank}
        about = {"features": self.features, "learner": self.learner, "n_columns": len(self.columns)} | score
        return pd.DataFrame([about])

    def to_dict(self) -> dict[str, Any]:
        """The document that `mlperf.save_model` writes.

        Raises
        ------
        UsageError
            The learner cannot be written as plain numbers.
        """
        if self.learner not in STORED:
            raise UsageError(
                f"got learner {self.learner!r}, which a model file cannot hold",
                hint=f"Train with {' or '.join(STORED)} to store it.",
            )
        return {
            **envelope("kernels"),
            "features": self.features,
            "learner": self.learner,
            "columns": list(self.columns),
            "model": model_to_dict(self.estimator),
            "range_ns": list(self.range_ns),
            "machine": plain(self.machine),
            "score": plain(self.score),
            "provenance": plain(self.provenance),
            **({"builds": list(self.builds)} if self.builds else {}),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> KernelModel:
        """The model again from a document without its envelope; raises DataError with the JSON path of what is wrong."""
        with Fields(document, path) as fields:
            low, high = fields.numbers("range_ns", 2)
            return cls(
                features=fields.text("features", tuple(FEATURE_SETS)),
                learner=fields.text("learner", STORED),
                columns=tuple(fields.texts("columns")),
                estimator=model_from_dict(fields.raw("model"), "$.model"),
                range_ns=(float(low), float(high)),
                machine=machine_from_dict(fields.raw("machine"), "$.machine"),
                score=score_from_dict(fields.raw("score"), "$.score"),
                provenance=dict(fields.raw("provenance")),
                builds=fields.texts("builds") if "builds" in fields.names else (),
            )

    def never_seen(self, rows: pd.DataFrame) -> tuple[BoolArray, tuple[str, ...]]:
        """Which rows (``machine``, ``build``) are of another machine or build than the kernels learnt from, and how they differ."""
        other, told = np.zeros(len(rows), bool), []
        seen = (("machine", (self.machine.name,)), ("build", self.builds))
        for column, known in seen:
            names = rows[column].astype(str)
            if not known or UNNAMED in known:
                continue
            differ = ~names.isin([*known, UNNAMED]).to_numpy(bool)
            told += [f"{column} {name!r}, measured on {' and '.join(map(repr, known))}" for name in names[differ].unique()]
            other |= differ
        return other, tuple(told)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KernelPredictions(Shown):
    """Predicted times of kernels; every array has shape (n_kernels,), seconds of one call.

    Attributes
    ----------
    rows : DataFrame
        ``pattern``, ``N``, ``build``.
    predicted_s : float array
    prediction_interval : Interval
        Of a run, 95 %.
    in_domain : bool array
        Whether the model may be asked for the row.
    clipped : bool array
        Prediction cut at the trained range times a factor.
    measured_s : float array
        NaN where the table holds no time.
    score : mapping of str to float
        ``n``, ``r2`` of the time per iteration, ``mape``, ``rank``, ``coverage``; empty where nothing was measured.
    measured_on : str
        Machine that the model learnt from.
    other_machine : tuple of str
        Machines and builds of the rows that it never saw; these rows are outside the domain.
    """

    rows: pd.DataFrame
    predicted_s: FloatArray
    prediction_interval: Interval
    in_domain: BoolArray
    clipped: BoolArray
    measured_s: FloatArray
    score: Mapping[str, float]
    measured_on: str = ""
    other_machine: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """The rows with prediction, interval and flags; measured times and errors where there are any."""
        frame = self.rows.assign(
            predicted_s=self.predicted_s,
            run_lower_s=self.prediction_interval.lower,
            run_upper_s=self.prediction_interval.upper,
            in_domain=self.in_domain,
            clipped=self.clipped,
        )
        if not np.isfinite(self.measured_s).any():
            return frame
        return frame.assign(measured_s=self.measured_s, relative_error=self.predicted_s / self.measured_s - 1.0)


def train_kernels(
    times: KernelTimes,
    *,
    features: str = "swc-s + swc-o",
    learner_name: str = "boosting",
    n_folds: int = 10,
    seed: int = 0,
) -> KernelModel:
    """Train a model of kernels.

    Parameters
    ----------
    times : KernelTimes
        Rows to learn from: one sweep, or several of one machine (see `KernelTimes.sweep`).
    features, learner_name : str
        Of `FEATURE_SETS` and `LEARNERS`.
    n_folds : int
        Grouped folds of the left-out error; below 2 there is none, nor an interval.
    seed : int

    Raises
    ------
    DataError
        The table lacks what the features need.
    """
    X = varying(kernel_features(times, features))
    ns = 1e9 * times.time_s / times.iterations
    one = learner(learner_name)
    score = None
    if n_folds >= 2:
        folds = grouped_folds(times.groups, n_folds, seed)
        score = estimate(features, X, ns, times.groups, folds, one, seed=seed).score
    model = one.make(5 if n_folds >= 2 else 0, seed, X.shape)
    return KernelModel(
        features=features,
        learner=learner_name,
        columns=tuple(map(str, X.columns)),
        estimator=fit_in_groups(model, X, ns, times.groups),
        range_ns=(float(ns.min()), float(ns.max())),
        machine=times.machine(),
        score=score,
        provenance=provenance(data_sha256=times.data_sha256, seed=seed),
        builds=tuple(sorted(map(str, times.frame["build"].unique()))),
    )


def predict_kernels(model: KernelModel, times: KernelTimes, *, strict: bool = False, level: float = 0.95) -> KernelPredictions:
    """Predict the time of every kernel of a table.

    Parameters
    ----------
    model : KernelModel
    times : KernelTimes
        Kernels asked for, from `read_kernels`; times in it are compared, never learnt from.
    strict : bool
        Refuse rows outside the domain.
    level : float
        Of the interval.

    Raises
    ------
    DataError
        A column that the model reads is missing.
    DomainError
        ``strict``, and a row lies outside; names the first.
    """
    found = kernel_features(times.on_machine(model.machine), model.features)
    X = complete(found, model, times.name)
    raw, (low, high) = np.asarray(model.estimator.predict(X), float), model.range_ns
    ns, cut = clipped(raw, np.array([low, high]))
    interval = model.estimator.predict_interval(X, kind="run", level=level)
    other, differences = model.never_seen(times.frame)
    inside = np.asarray(model.estimator.in_domain(X), bool) & ~cut & ~other
    if strict and not inside.all():
        row = int(np.argmin(inside))
        raise DomainError(f"kernel {times.frame['pattern'].iloc[row]} lies outside the measured domain", place=times.name)
    scale = 1e-9 * times.iterations
    lower, upper = (np.clip(end, low / CLIP, high * CLIP) * scale for end in (interval.lower, interval.upper))
    measured = times.time_s
    return KernelPredictions(
        rows=times.frame[["pattern", "N", "build"]],
        predicted_s=ns * scale,
        prediction_interval=Interval(lower, upper, level),
        in_domain=inside,
        clipped=cut,
        measured_s=measured,
        score=scores_of(ns, measured / scale, lower / scale, upper / scale),
        measured_on=model.machine.name,
        other_machine=differences,
    )


def complete(found: pd.DataFrame, model: KernelModel, place: str) -> pd.DataFrame:
    """Columns that the model sees; classes of instructions that these kernels do not use count 0.

    Raises
    ------
    DataError
        None of the model's columns is there.
    """
    missing = [name for name in model.columns if name not in found]
    unknown = [name for name in missing if not name.startswith(("mix_", "cnt_"))]
    if unknown:
        raise DataError(f"got no column {unknown[0]!r}, expected what the model was trained on", place=place)
    return found.reindex(columns=list(model.columns), fill_value=0.0)


def scores_of(predicted: FloatArray, measured: FloatArray, lower: FloatArray, upper: FloatArray) -> dict[str, float]:
    """Figures of rows that were measured; empty without any."""
    known = np.isfinite(measured)
    if known.sum() < 2:
        return {}
    return {
        "n": float(known.sum()),
        "r2": r2(predicted[known], measured[known]),
        "mape": relative_errors(predicted[known], measured[known]).mape,
        "rank": rank_correlation(predicted[known], measured[known]),
        "coverage": coverage(lower[known], upper[known], measured[known]),
    }
