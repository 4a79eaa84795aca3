"""Think and service time of asynchronous workers at parameter servers, from speeds at a few worker counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError, FitError
from mlperf.models.estimators.members.nonnegative import NonNegativeOLS
from mlperf.models.validation.scores import ErrorSummary, relative_errors
from mlperf.systems.coupling.queues import closed_queue, saturation_workers
from mlperf.training.systems.server_model import (
    ServerFit,
    ServerModel,
    ServiceFit,
    group_keys,
    log_speed_gradient,
    server_counts,
    think_of,
    worker_counts,
)

RATES = ("updates_per_s", "steps_per_s", "samples_per_s")
TIMES = ("step_s", "step_time_s")
GROUPS = ("cnn", "network", "device", "subbatch_size")
COARSE = np.concatenate([[0.0], np.logspace(-6.0, 4.0, 121)])
N_ZOOMS, N_FINE = 8, 17
MOST_DOUBT = 0.5
"""Service times that are known worse than to this share of themselves teach nothing about features."""
LEAST_COUNTS = 2


def fit_servers(
    table: pd.DataFrame,
    *,
    response: str | None = None,
    groups: Sequence[str] | None = None,
    features: Sequence[str] = (),
    service_scv: float = 0.0,
    provenance: Mapping[str, Any] | None = None,
) -> ServerModel:
    """Fit Z and S of every group by least squares of relative errors of the speed, and S from features.

    Parameters
    ----------
    table : DataFrame
        One row a run: ``n_workers`` (or ``n_nodes`` and ``n_gpus_per_node``), the response, group columns, features, and
        ``n_servers`` where it is not 1.
    response : str, optional
        ``updates_per_s`` or ``steps_per_s`` (of all workers together), ``samples_per_s`` (with a column ``subbatch_size``),
        ``step_s`` or ``step_time_s`` (of one worker, from update to update), or the name of another column that holds updates a
        second. Default: the first of these that the table has.
    groups : sequence of str, optional
        Columns; rows that agree in them share Z and S. Default: those of cnn, network, device, subbatch_size that there are.
    features : sequence of str
        Columns constant in each group that the service time is proportional to, ``("n_params", "n_tensors")``: coefficients >= 0, no
        constant. Empty: groups that were not measured cannot be predicted.
    service_scv : float
        Squared coefficient of variation of the service time; 0 constant, 1 exponential.
    provenance : mapping, optional
        Stored with the model.

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
    workers, servers, speeds = worker_counts(table), server_counts(table), updates_per_s(table, response)
    keys = group_keys(table, columns)
    fits, residuals, left_out, n_free = [], [], [], 0
    for key in dict.fromkeys(keys):
        rows = np.array([each == key for each in keys], dtype=bool)
        inputs = (workers[rows], servers[rows], speeds[rows])
        fits.append(_fit_group(key, *inputs, service_scv))
        residuals.append(speed_of(fits[-1].think_s, fits[-1].service_s, *inputs[:2], service_scv) / inputs[2] - 1.0)
        n_free += max(len(inputs[0]) - 2, 0)
        left_out += _left_out(*inputs, service_scv)
    squares = float(sum((each**2).sum() for each in residuals))
    return ServerModel(
        group_columns=columns,
        fits=tuple(fits),
        service_scv=float(service_scv),
        sigma=float(np.sqrt(squares / max(n_free, 1))),
        df=float(n_free),
        errors=_summary(left_out),
        service=_service_fit(table, keys, fits, features, (workers, servers, speeds), service_scv, squares / max(n_free, 1)),
        provenance=dict(provenance or {}),
    )


def updates_per_s(table: pd.DataFrame, response: str | None = None) -> FloatArray:
    """Updates a second of all workers together, from whichever column says it; see `fit_servers`.

    Raises
    ------
    DataError
        No such column, or a value that is not positive.
    """
    name = response or next((each for each in (*RATES, *TIMES) if each in table), None)
    if name is None or name not in table:
        wanted = name or f"one of {', '.join((*RATES, *TIMES))}"
        raise DataError(f"got columns {', '.join(map(str, table))}, expected {wanted} among them", place="table of speeds")
    values = table[name].to_numpy(dtype=float)
    wrong = ~(np.isfinite(values) & (values > 0.0))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise DataError(f"got {values[row]}, expected a number > 0", place=f"row {row + 1}, column {name}")
    if name in TIMES:
        return worker_counts(table) / values
    if name == "samples_per_s":
        if "subbatch_size" not in table:
            raise DataError("got samples_per_s without subbatch_size, expected both: a worker's update is one sub-batch")
        return np.asarray(values / table["subbatch_size"].to_numpy(dtype=float))
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


def _fit_group(key: tuple[str, ...], workers: FloatArray, servers: FloatArray, speeds: FloatArray, scv: float) -> ServerFit:
    if len(np.unique(workers / servers)) < LEAST_COUNTS:
        place = ", ".join(key) or "table of speeds"
        hint = "Measure one worker and as many as there are; a network measured on one worker only is predicted from features."
        raise FitError(f"got {len(np.unique(workers))} worker count, expected at least 2", place=place, hint=hint)
    think, service = think_and_service(workers, servers, speeds, scv)
    jacobian = log_speed_gradient(think, service, workers, servers, scv)
    return ServerFit(
        labels=key,
        think_s=think,
        service_s=service,
        covariance=np.linalg.pinv(jacobian.T @ jacobian, hermitian=True),
        saturation_workers=float(saturation_workers(think, service)),
        n_rows=len(workers),
        fewest=int(workers.min()),
        most=int(workers.max()),
    )


def _left_out(workers: FloatArray, servers: FloatArray, speeds: FloatArray, scv: float) -> list[tuple[float, float]]:
    """Predicted and measured speed of every row, its worker count left out; nothing where fewer than two would be left."""
    found: list[tuple[float, float]] = []
    for count in np.unique(workers):
        kept = workers != count
        if len(np.unique(workers[kept] / servers[kept])) < LEAST_COUNTS:
            continue
        think, service = think_and_service(workers[kept], servers[kept], speeds[kept], scv)
        told = speed_of(think, service, workers[~kept], servers[~kept], scv)
        found += zip(told.tolist(), speeds[~kept].tolist(), strict=True)
    return found


def _summary(left_out: list[tuple[float, float]]) -> ErrorSummary | None:
    if not left_out:
        return None
    predicted, measured = (np.array(each) for each in zip(*left_out, strict=True))
    return relative_errors(predicted, measured)


def _service_fit(
    table: pd.DataFrame,
    keys: list[tuple[str, ...]],
    fits: Sequence[ServerFit],
    features: Sequence[str],
    inputs: tuple[FloatArray, FloatArray, FloatArray],
    scv: float,
    variance: float,
) -> ServiceFit | None:
    """S from features, learnt from the groups whose S is known, and what leaving groups out says of it."""
    if not features:
        return None
    missing = [name for name in features if name not in table]
    if missing:
        raise DataError(f"got columns {', '.join(map(str, table))}, expected the feature {missing[0]!r} among them")
    places = [np.array([each == fit.labels for each in keys], dtype=bool) for fit in fits]
    rows = pd.concat([_group_features(table[place], features, fit.labels) for place, fit in zip(places, fits, strict=True)])
    service = np.array([fit.service_s for fit in fits])
    doubt = np.sqrt(np.array([fit.covariance[1, 1] for fit in fits]) * variance)
    sure = np.flatnonzero((service > 0.0) & (doubt <= MOST_DOUBT * service))
    if not len(sure):
        raise FitError(
            "got no group whose service time is known, expected one", hint="Measure more workers, until speeds level off."
        )
    squares: list[float] = []
    for group in sure if len(sure) > 2 else ():
        others = np.setdiff1d(sure, [group])
        told = float(_estimator(rows.iloc[others], service[others]).predict(rows.iloc[[group]])[0])
        workers, servers, speeds = (each[places[group]] for each in inputs)
        think = think_of(np.array([_alone(fits[group], scv)]), np.array([told]))
        predicted = speed_of(float(think[0]), told, workers, servers, scv)
        squares.append(float(np.mean(np.log(predicted / speeds) ** 2)))
    sigma = float(np.sqrt(np.mean(squares))) if squares else float("nan")
    estimator = _estimator(rows.iloc[sure], service[sure])
    return ServiceFit(tuple(features), estimator, len(sure), sigma, float(max(len(squares) - 1, 0)))


def _alone(fit: ServerFit, scv: float) -> float:
    """Speed of one worker of a fitted group."""
    return float(closed_queue(fit.think_s, fit.service_s, 1, scv).throughput_per_s)


def _estimator(rows: pd.DataFrame, service: FloatArray) -> NonNegativeOLS:
    return NonNegativeOLS(list(rows.columns), fit_intercept=False, smearing=False, n_draws=0, n_folds=0).fit(rows, service)


def _group_features(rows: pd.DataFrame, features: Sequence[str], labels: tuple[str, ...]) -> pd.DataFrame:
    """One row of a group's features; DataError where they differ within it."""
    values = rows[list(features)].drop_duplicates()
    varying: BoolArray = (values.nunique() > 1).to_numpy()
    if varying.any():
        name = list(features)[int(np.flatnonzero(varying)[0])]
        raise DataError(f"got several values of {name!r}, expected one in a group", place=", ".join(labels))
    return values.astype(float)
