"""Think and service time of asynchronous workers at parameter servers, from speeds at a few worker counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import DataError, FitError
from mlperf.datasets.reading.time_units import TIME_SUFFIXES, seconds_in
from mlperf.models.estimators.members.nonnegative import NonNegativeOLS
from mlperf.models.validation.scores import ErrorSummary, relative_errors
from mlperf.systems.coupling.queues import closed_queue, saturation_workers
from mlperf.training.systems.server_model import (
    ServerFit,
    ServerModel,
    ServiceFit,
    log_speed_gradient,
    think_of,
)
from mlperf.training.systems.server_rows import group_keys, numbers_in, server_counts, worker_counts

RATES = ("updates_per_s", "steps_per_s", "samples_per_s")
TIMES = tuple(f"{name}{end}" for end in TIME_SUFFIXES for name in ("step", "step_time"))
GROUPS = ("cnn", "network", "device", "subbatch_size")
COARSE = np.concatenate([[0.0], np.logspace(-6.0, 4.0, 121)])
N_ZOOMS, N_FINE = 8, 17
MOST_DOUBT = 0.5
"""Service times that are known worse than to this share of themselves teach nothing about features."""
WHOLE_TABLE = "table of speeds"
LEAST_COUNTS = 2
LEAST_GROUPS = 3
"""To leave one out and have two to learn from."""


def fit_servers(
    table: pd.DataFrame,
    *,
    response: str | None = None,
    groups: Sequence[str] | None = None,
    features: Sequence[str] = (),
    service_scv: float = 0.0,
    provenance: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> ServerModel:
    """Fit Z and S of every group by least squares of relative errors of the speed, and S from features.

    Parameters
    ----------
    table : DataFrame
        One row a run: ``n_workers`` (or ``n_nodes`` and ``n_gpus_per_node``), the response, group columns, features, and
        ``n_servers`` where it is not 1.
    response : str, optional
        ``updates_per_s`` or ``steps_per_s`` (of all workers together), ``samples_per_s`` (with a column ``subbatch_size``),
        ``step_s`` or ``step_time_s`` (of one worker, from update to update; also ``_ms``, ``_us``, ``_ns``), or the name of another
        column: of such times where it ends in their unit, else of updates a second. Default: the first of these that the table has.
    groups : sequence of str, optional
        Columns; rows that agree in them share Z and S. Default: those of cnn, network, device, subbatch_size that there are.
    features : sequence of str
        Columns constant in each group that make up the service time, ``("n_params", "n_tensors")``: coefficients >= 0, no
        constant. Empty: groups that were not measured cannot be predicted.
    service_scv : float
        Squared coefficient of variation of the service time; 0 constant, 1 exponential.
    provenance : mapping, optional
        Stored with the model.
    notes : sequence of str
        What was assumed of the table, stored with the model.

    Returns
    -------
    ServerModel

    Raises
    ------
    DataError
        A column is missing or holds what it cannot.
    FitError
        A group has fewer than two worker counts.
    """
    columns = tuple(name for name in GROUPS if name in table) if groups is None else tuple(groups)
    missing = [name for name in features if name not in table]
    if missing:
        raise DataError(f"got columns {', '.join(map(str, table))}, expected the feature {missing[0]!r} among them")
    series = _series(table, columns, response)
    fits = tuple(_fit_series(each, service_scv) for each in series)
    misses = [_residuals(fit, each, service_scv) for fit, each in zip(fits, series, strict=True)]
    n_free = sum(max(len(each.speeds) - 2, 0) for each in series)
    sigma = float(np.sqrt(sum(float((each**2).sum()) for each in misses) / max(n_free, 1)))
    left_out = [pair for each in series for pair in _left_out(each, service_scv)]
    return ServerModel(
        group_columns=columns,
        fits=fits,
        service_scv=float(service_scv),
        sigma=sigma,
        df=float(n_free),
        errors=_summary(left_out),
        service=_service_fit(table, features, series, fits, service_scv, sigma) if features else None,
        provenance=dict(provenance or {}),
        notes=tuple(notes),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Series:
    """The rows of one group: their labels and places in the table, workers, servers, updates a second."""

    labels: tuple[str, ...]
    rows: IntArray
    workers: FloatArray
    servers: FloatArray
    speeds: FloatArray

    def only(self, kept: BoolArray) -> _Series:
        return _Series(self.labels, self.rows[kept], self.workers[kept], self.servers[kept], self.speeds[kept])

    @property
    def n_counts(self) -> int:
        """Worker counts that tell think from service time."""
        return len(np.unique(self.workers / self.servers))


def _series(table: pd.DataFrame, columns: tuple[str, ...], response: str | None) -> tuple[_Series, ...]:
    if not len(table):
        raise DataError("got a table without rows, expected speeds", place=WHOLE_TABLE)
    workers, servers, speeds = worker_counts(table), server_counts(table), updates_per_s(table, response)
    keys = pd.Series(group_keys(table, columns))
    places = {key: np.flatnonzero([each == key for each in keys]) for key in dict.fromkeys(keys)}
    return tuple(_Series(key, rows, workers[rows], servers[rows], speeds[rows]) for key, rows in places.items())


def updates_per_s(table: pd.DataFrame, response: str | None = None) -> FloatArray:
    """Updates a second of all workers together, from whichever column says it; see `fit_servers`.

    Raises
    ------
    DataError
        No such column, or a value that is not positive.
    """
    name = response or next((each for each in (*RATES, *TIMES) if each in table), None)
    if name is None or name not in table:
        wanted = name or f"one of {', '.join((*RATES, *TIMES[:2]))} (or {', '.join(TIME_SUFFIXES[1:])})"
        raise DataError(f"got columns {', '.join(map(str, table))}, expected {wanted} among them", place=WHOLE_TABLE)
    values = numbers_in(table, name)
    wrong = ~(np.isfinite(values) & (values > 0.0))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise DataError(f"got {values[row]}, expected a number > 0", place=f"row {row + 1}, column {name}")
    unit_s = seconds_in(name)
    if unit_s is not None:
        return np.asarray(worker_counts(table) / (unit_s * values))
    if name == "samples_per_s":
        if "subbatch_size" not in table:
            raise DataError("got samples_per_s without subbatch_size, expected both: a worker's update is one sub-batch")
        return np.asarray(values / numbers_in(table, "subbatch_size"))
    return np.asarray(values)


def speed_of(think_s: float, service_s: float, workers: FloatArray, servers: FloatArray, scv: float) -> FloatArray:
    """Updates a second of every row."""
    return closed_queue(think_s, service_s / servers, workers, scv).throughput_per_s


def think_and_service(workers: FloatArray, servers: FloatArray, speeds: FloatArray, scv: float) -> tuple[float, float]:
    """Z and S that minimise the sum of (X(n; Z, S) / speed - 1)**2, seconds.

    The speed is homogeneous, X(n; Z, S) = X(n; 1, S/Z) / Z: the best 1/Z of a ratio has a closed form, the ratio is searched on a
    grid over ten decades that is made finer around its best value. S = 0, no queue at all, is one of the candidates.
    """
    grid = COARSE
    for _ in range(N_ZOOMS):
        shapes = closed_queue(1.0, grid[:, None] / servers, workers, scv).throughput_per_s / speeds
        scale = shapes.sum(axis=1) / (shapes**2).sum(axis=1)
        loss = ((scale[:, None] * shapes - 1.0) ** 2).sum(axis=1)
        best = int(np.argmin(loss))
        if grid[best] == 0.0:
            break
        low, high = max(grid[max(best - 1, 0)], 0.1 * grid[best]), grid[min(best + 1, len(grid) - 1)]
        found = (1.0 / float(scale[best]), float(grid[best] / scale[best]))
        grid = np.unique(np.append(np.geomspace(low, high, N_FINE), grid[best]))
    else:
        return found
    return 1.0 / float(scale[0]), 0.0


def _fit_series(series: _Series, scv: float) -> ServerFit:
    if series.n_counts < LEAST_COUNTS:
        place = ", ".join(series.labels) or WHOLE_TABLE
        hint = "Measure one worker and as many as there are; a network measured on one worker only is predicted from features."
        raise FitError(f"got {series.n_counts} worker count, expected at least {LEAST_COUNTS}", place=place, hint=hint)
    think, service = think_and_service(series.workers, series.servers, series.speeds, scv)
    jacobian = log_speed_gradient(think, service, series.workers, series.servers, scv)
    return ServerFit(
        labels=series.labels,
        think_s=think,
        service_s=service,
        covariance=np.asarray(np.linalg.pinv(jacobian.T @ jacobian, hermitian=True), dtype=np.float64),
        saturation_workers=float(saturation_workers(think, service)),
        n_rows=len(series.speeds),
        fewest=int(series.workers.min()),
        most=int(series.workers.max()),
    )


def _residuals(fit: ServerFit, series: _Series, scv: float) -> FloatArray:
    """Relative residuals of the rows of a group."""
    return np.asarray(speed_of(fit.think_s, fit.service_s, series.workers, series.servers, scv) / series.speeds - 1.0)


def _left_out(series: _Series, scv: float) -> list[tuple[float, float]]:
    """Predicted and measured speed of every row, its worker count left out; nothing where fewer than two would be left."""
    found: list[tuple[float, float]] = []
    for count in np.unique(series.workers):
        kept, tested = series.only(series.workers != count), series.only(series.workers == count)
        if kept.n_counts >= LEAST_COUNTS:
            think, service = think_and_service(kept.workers, kept.servers, kept.speeds, scv)
            told = speed_of(think, service, tested.workers, tested.servers, scv)
            found += zip(told.tolist(), tested.speeds.tolist(), strict=True)
    return found


def _summary(left_out: list[tuple[float, float]]) -> ErrorSummary | None:
    if not left_out:
        return None
    predicted, measured = (np.array(each) for each in zip(*left_out, strict=True))
    return relative_errors(predicted, measured)


def _service_fit(
    table: pd.DataFrame,
    features: Sequence[str],
    series: Sequence[_Series],
    fits: Sequence[ServerFit],
    scv: float,
    sigma: float,
) -> ServiceFit:
    """S from features, learnt from the groups whose S is known, and what leaving groups out says of it."""
    sure = [
        place
        for place, fit in enumerate(fits)
        if fit.service_s > 0.0 and sigma * float(np.sqrt(fit.covariance[1, 1])) <= MOST_DOUBT * fit.service_s
    ]
    if not sure:
        hint = "Measure more workers, until speeds level off."
        raise FitError("got no group whose service time is known, expected one", hint=hint)
    rows = pd.concat([_group_features(table.iloc[series[place].rows], features, fits[place].labels) for place in sure])
    service = np.array([fits[place].service_s for place in sure])
    squares: list[float] = []
    for number, place in enumerate(sure if len(sure) >= LEAST_GROUPS else ()):
        others = np.delete(np.arange(len(sure)), number)
        told = float(_estimator(rows.iloc[others], service[others]).predict(rows.iloc[[number]])[0])
        alone = speed_of(fits[place].think_s, fits[place].service_s, np.ones(1), np.ones(1), scv)
        think = float(think_of(alone, np.array([told]))[0])
        predicted = speed_of(think, told, series[place].workers, series[place].servers, scv)
        squares.append(float(np.mean(np.log(predicted / series[place].speeds) ** 2)))
    spread = float(np.sqrt(np.mean(squares))) if squares else float("nan")
    set_aside = tuple(", ".join(fit.labels) for place, fit in enumerate(fits) if place not in sure)
    df = float(max(len(squares) - 1, 0))
    return ServiceFit(tuple(features), _estimator(rows, service), len(sure), set_aside, spread, df)


def _estimator(rows: pd.DataFrame, service: FloatArray) -> NonNegativeOLS:
    """S is a sum of costs, each in proportion to a feature."""
    return NonNegativeOLS(list(rows.columns), fit_intercept=False, smearing=False, n_draws=0, n_folds=0).fit(rows, service)


def _group_features(rows: pd.DataFrame, features: Sequence[str], labels: tuple[str, ...]) -> pd.DataFrame:
    """One row of a group's features; DataError where they differ within it."""
    values = rows[list(features)].drop_duplicates()
    if len(values) != 1:
        name = next(name for name in features if values[name].nunique(dropna=False) > 1)
        raise DataError(f"got several values of {name!r}, expected one in a group", place=", ".join(labels))
    return values.astype(float)
