"""Asynchronous workers at parameter servers, fitted: think and service time of every group, stored as data, predicting speeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown, plain, records_frame
from mlperf.models.estimators.members.nonnegative import NonNegativeOLS
from mlperf.models.storage.store import envelope, model_from_dict, model_to_dict
from mlperf.models.uncertainty.intervals import Interval
from mlperf.models.validation.scores import ErrorSummary
from mlperf.systems.coupling.queues import closed_queue, saturation_workers
from mlperf.training.systems.server_rows import group_keys, numbers_in, server_counts, worker_counts

KIND = "mlperf-servers"
STEP = 1e-5
MOST_HALF = 300.0
ONE_WORKER = "one_worker_updates_per_s"
"""Column of configurations: what one worker reaches alone, for groups that were not fitted."""


@dataclass(frozen=True, slots=True, eq=False)
class ServerFit(Shown):
    """Think and service time of one group of rows.

    Attributes
    ----------
    labels : tuple of str
        Values of the group's columns.
    think_s, service_s : float
        Z and S, seconds; S of one server that does all.
    covariance : array, shape (2, 2)
        Of (Z, S), seconds squared, for residuals with a standard deviation of 1 (a fraction): times sigma squared.
    saturation_workers : float
        (Z + S) / S; infinite where the rows show no queue.
    n_rows, fewest, most : int
        Rows, and the worker counts that they span.
    """

    labels: tuple[str, ...]
    think_s: float
    service_s: float
    covariance: FloatArray
    saturation_workers: float
    n_rows: int
    fewest: int
    most: int


@dataclass(frozen=True, slots=True, eq=False)
class ServiceFit(Shown):
    """Service time from static features of a network, never negative.

    Attributes
    ----------
    features : tuple of str
        Columns.
    estimator : NonNegativeOLS
        Of S, seconds, without a constant.
    n_groups : int
        Groups learnt from.
    set_aside : tuple of str
        Groups that teach nothing: their service time is known worse than to half of itself.
    sigma, df : float
        Standard deviation of log(predicted / measured) speeds of left-out groups, and what it rests on; NaN with fewer than three.
    """

    features: tuple[str, ...]
    estimator: NonNegativeOLS
    n_groups: int
    set_aside: tuple[str, ...]
    sigma: float
    df: float


@dataclass(frozen=True, slots=True, eq=False)
class ServerPrediction(Shown):
    """Speeds of configurations; every array has the shape (n_rows,).

    Attributes
    ----------
    updates_per_s : array
        Of all workers together.
    lower, upper : array
        Prediction interval: of one run, updates a second; NaN where rows or groups are too few to tell.
    level : float
        Its coverage.
    mean_staleness : array
        Updates of others between a worker's fetch and its push: N - 1.
    step_s, wait_s : array
        From one update of a worker to its next, and the queueing in it, seconds.
    utilisation, saturation_workers : array
        Of the server.
    in_domain : array of bool
        Whether the group was measured (or, with a service time from features, those lie among the measured) with as few and as
        many workers.
    measured_group : array of bool
        Whether think and service time were fitted; else the service time comes from features.
    """

    updates_per_s: FloatArray
    lower: FloatArray
    upper: FloatArray
    level: float
    mean_staleness: FloatArray
    step_s: FloatArray
    wait_s: FloatArray
    utilisation: FloatArray
    saturation_workers: FloatArray
    in_domain: BoolArray
    measured_group: BoolArray

    def to_frame(self) -> pd.DataFrame:
        """One row a configuration."""
        return pd.DataFrame({name: getattr(self, name) for name in self.__slots__ if name != "level"})

    @property
    def prediction_interval(self) -> Interval:
        """The interval of one run as other models give it."""
        return Interval(self.lower, self.upper, self.level)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ServerModel(Shown):
    """What `mlperf.training.systems.server_fit.fit_servers` found.

    Attributes
    ----------
    group_columns : tuple of str
        Rows that agree in them share think and service time.
    fits : tuple of ServerFit
        One a group.
    service_scv : float
        Squared coefficient of variation of the service time that was assumed: 0 constant, 1 exponential.
    sigma, df : float
        Standard deviation of relative residuals, pooled over groups, and its degrees of freedom.
    errors : ErrorSummary or None
        Of rows left out one by one; None where no group has three worker counts.
    service : ServiceFit or None
        Service times of networks that were not measured.
    provenance : mapping
        Where the rows came from.
    notes : tuple of str
        Which columns were read under another name than their file has.
    """

    group_columns: tuple[str, ...]
    fits: tuple[ServerFit, ...]
    service_scv: float
    sigma: float
    df: float
    errors: ErrorSummary | None
    service: ServiceFit | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def predict(self, configs: pd.DataFrame, level: float = 0.95) -> ServerPrediction:
        """Speeds of configurations.

        Parameters
        ----------
        configs : DataFrame
            The group columns; ``n_workers``, or ``n_nodes`` and ``n_gpus_per_node``; ``n_servers`` (default 1). Rows of a group
            that was not measured need the features and ``one_worker_updates_per_s``.
        level : float
            Of the interval.

        Raises
        ------
        DataError
            A column is missing, or a row's group is unknown and cannot be told from features.
        """
        workers, servers = worker_counts(configs), server_counts(configs)
        think, service, spread, known, inside = self._parameters(configs, workers, servers)
        queue = closed_queue(think, service / servers, workers, self.service_scv)
        half = np.array([self._quantile(is_known, level) for is_known in known]) * spread
        factor = np.exp(np.minimum(half, MOST_HALF))
        updates = queue.throughput_per_s
        return ServerPrediction(
            updates_per_s=updates,
            lower=updates / factor,
            upper=updates * factor,
            level=level,
            mean_staleness=workers - 1.0,
            step_s=workers / updates,
            wait_s=queue.wait_s,
            utilisation=queue.utilisation,
            saturation_workers=saturation_workers(think, service / servers),
            in_domain=inside,
            measured_group=known,
        )

    def _parameters(
        self, configs: pd.DataFrame, workers: FloatArray, servers: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray, BoolArray]:
        """Z, S, the standard deviation of a run's log speed, whether the group was fitted, and the domain flag of every row."""
        keys = group_keys(configs, self.group_columns)
        by_labels = {fit.labels: fit for fit in self.fits}
        known = np.array([key in by_labels for key in keys], dtype=bool)
        think, service, spread = np.empty(len(keys)), np.empty(len(keys)), np.empty(len(keys))
        inside = np.zeros(len(keys), dtype=bool)
        for row in np.flatnonzero(known):
            fit = by_labels[keys[row]]
            think[row], service[row] = fit.think_s, fit.service_s
            gradient = log_speed_gradient(fit.think_s, fit.service_s, workers[row], servers[row], self.service_scv)[0]
            spread[row] = self.sigma * float(np.sqrt(1.0 + gradient @ fit.covariance @ gradient))
            inside[row] = fit.fewest <= workers[row] <= fit.most
        others = np.flatnonzero(~known)
        if len(others):
            rows = configs.iloc[others]
            learnt = self._learnt(keys[others[0]], rows)
            service[others] = np.asarray(learnt.estimator.predict(rows[list(learnt.features)]))
            think[others] = think_of(numbers_in(rows, ONE_WORKER), service[others])
            spread[others] = learnt.sigma
            near = np.asarray(learnt.estimator.in_domain(rows[list(learnt.features)]), dtype=bool)
            fewest, most = min(fit.fewest for fit in self.fits), max(fit.most for fit in self.fits)
            inside[others] = near & (workers[others] >= fewest) & (workers[others] <= most)
        return think, service, spread, known, inside

    def _learnt(self, first: tuple[str, ...], rows: pd.DataFrame) -> ServiceFit:
        """The service times from features; DataError where there are none, or the rows lack what they need."""
        place = ", ".join(first)
        if self.service is None:
            hint = f"Measured: {'; '.join(', '.join(fit.labels) for fit in self.fits)}. Train with features to predict others."
            raise DataError(f"got the group {place}, which was not measured", place="configurations", hint=hint)
        missing = [name for name in (*self.service.features, ONE_WORKER) if name not in rows]
        if missing:
            got = f"got the group {place}, which was not measured, without {missing[0]}"
            raise DataError(f"{got}, expected its features and the speed of one worker alone", place="configurations")
        alone = numbers_in(rows, ONE_WORKER)
        if not (np.isfinite(alone) & (alone > 0.0)).all():
            raise DataError(f"got {alone.min()}, expected a speed > 0", place=f"configurations, {ONE_WORKER}")
        return self.service

    def _quantile(self, known: bool, level: float) -> float:
        df = self.df if known else (self.service.df if self.service is not None else 0.0)
        return float(stdtrit(df, 0.5 + level / 2.0)) if df > 0.0 else np.nan

    def to_dict(self) -> dict[str, Any]:
        """The document that a model file holds."""
        service = self.service
        stored = None if service is None else {
            "features": list(service.features),
            "estimator": model_to_dict(service.estimator),
            "n_groups": service.n_groups,
            "set_aside": list(service.set_aside),
            "sigma": plain(service.sigma),
            "df": plain(service.df),
        }  # fmt: skip
        return {
            **envelope(KIND),
            "group_columns": list(self.group_columns),
            "fits": [plain(fit) for fit in self.fits],
            "service_scv": self.service_scv,
            "sigma": self.sigma,
            "df": self.df,
            "errors": plain(self.errors),
            "service": stored,
            "provenance": plain(self.provenance),
            # A model without any is written as earlier releases write it.
            **({"notes": list(self.notes)} if self.notes else {}),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> ServerModel:
        """The model again from a document without its envelope; raises DataError with the JSON path of what is wrong."""
        body = {key: value for key, value in document.items() if key not in ("format", "version")}
        with Fields(body, path) as fields:
            columns = fields.texts("group_columns")
            fits = tuple(_read_fit(item, len(columns)) for item in fields.children("fits"))
            if not fits:
                raise DataError("got no groups, expected at least one", place=f"{path}.fits")
            return cls(
                group_columns=columns,
                fits=fits,
                service_scv=fields.number("service_scv", lower=0.0),
                sigma=fields.number("sigma", lower=0.0),
                df=fields.number("df", lower=0.0),
                errors=None if fields.absent("errors") else ErrorSummary.from_fields(fields.child("errors")),
                service=None if fields.absent("service") else _read_service(fields.child("service")),
                provenance=dict(fields.raw("provenance")),
                notes=() if fields.missing("notes") else fields.texts("notes"),
            )

    def to_frame(self) -> pd.DataFrame:
        """One row a group, with standard errors where the rows tell think and service time apart (see `std_errors_s`)."""
        frame = records_frame(ServerFit, self.fits).drop(columns=["labels", "covariance"])
        labels = pd.DataFrame([fit.labels for fit in self.fits], columns=list(self.group_columns))
        errors = [std_errors_s(fit, self.sigma) for fit in self.fits]
        frame.insert(2, "think_std_err_s", [error[0] for error in errors])
        frame.insert(3, "service_std_err_s", [error[1] for error in errors])
        return pd.concat([labels, frame], axis=1)


def std_errors_s(fit: ServerFit, sigma: float) -> tuple[float, float]:
    """Standard errors of Z and S, seconds; NaN where the rows do not tell one.

    Rows without a queue know Z + S alone: derivatives of the speed by the two are equal, and the inverse of their products is
    rounding. With S = 0, the end of what it can be, every row gives Z to within its own error and S has none; else an error above
    Z + S, which is a step of one worker, says no more than that.
    """
    if fit.service_s == 0.0:
        return float(sigma * fit.think_s / np.sqrt(fit.n_rows)), np.nan
    think, service = sigma * np.sqrt(np.diag(fit.covariance))
    most = fit.think_s + fit.service_s
    return float(think) if think <= most else np.nan, float(service) if service <= most else np.nan


def think_of(one_worker_per_s: FloatArray, service_s: FloatArray) -> FloatArray:
    """Z of a worker that reaches a speed alone, seconds: what its step has beside the service, at least 0."""
    return np.asarray(np.maximum(1.0 / one_worker_per_s - service_s, 0.0))


def log_speed_gradient(think_s: float, service_s: float, workers: Any, servers: Any, scv: float) -> FloatArray:
    """Derivatives of log X by Z and S, shape (n_rows, 2), 1/s; one-sided at 0."""
    n, m = np.broadcast_arrays(np.atleast_1d(np.asarray(workers, float)), np.asarray(servers, float))
    unit = STEP * (think_s + service_s)
    columns = []
    for direction in ((1.0, 0.0), (0.0, 1.0)):
        ends = []
        for sign in (1.0, -1.0):
            think, service = (
                max(value + sign * unit * one, 0.0) for value, one in zip((think_s, service_s), direction, strict=True)
            )
            speed = closed_queue(think, service / m, n, scv).throughput_per_s
            ends.append((np.log(speed), think * direction[0] + service * direction[1]))
        columns.append((ends[0][0] - ends[1][0]) / (ends[0][1] - ends[1][1]))
    return np.stack(columns, axis=1)


def _read_fit(fields: Fields, n_labels: int) -> ServerFit:
    with fields:
        covariance = fields.matrix("covariance", 2, 2)
        if (np.diag(covariance) < 0.0).any():
            raise DataError(f"got the variance {np.diag(covariance).min():g}, expected one >= 0", place=f"{fields.path}.covariance")
        return ServerFit(
            labels=fields.texts("labels", n_labels),
            think_s=fields.number("think_s", lower=0.0),
            service_s=fields.number("service_s", lower=0.0),
            covariance=covariance,
            saturation_workers=fields.number("saturation_workers", lower=1.0, finite=False),
            n_rows=fields.integer("n_rows", lower=1),
            fewest=fields.integer("fewest", lower=1),
            most=fields.integer("most", lower=1),
        )


def _read_service(fields: Fields) -> ServiceFit:
    with fields:
        return ServiceFit(
            features=fields.texts("features"),
            estimator=model_from_dict(fields.raw("estimator"), f"{fields.path}.estimator"),
            n_groups=fields.integer("n_groups", lower=1),
            set_aside=fields.texts("set_aside"),
            sigma=fields.number("sigma", finite=False),
            df=fields.number("df", lower=0.0),
        )
