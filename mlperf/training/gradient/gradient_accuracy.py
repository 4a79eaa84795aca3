"""How well gradient time is predicted for CNNs that were left out, selection repeated inside each fold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.children import tied
from mlperf.core.errors import FitError
from mlperf.core.progress import tracked
from mlperf.models.validation.scores import ErrorSummary, relative_errors
from mlperf.training.gradient.gradient import LEAST_ROWS, METHODS, GradientModel, Method, fit_gradient
from mlperf.training.gradient.gradient_data import STEP_KEYS, GradientData
from mlperf.training.gradient.work_model import WorkModel

SIZE_COLUMNS = ("m", "n", "k", "access_bytes", "maps_in", "maps_out", "row_size", "subbatch_size", "step_bytes")
Complete = Callable[[pd.DataFrame, pd.DataFrame], tuple[pd.DataFrame, pd.DataFrame]]
ERROR_COLUMNS = ("n", "mape", "median", "q3", "max", "bias", "nonpositive")


def predicted_steps(model: GradientModel | WorkModel, data: GradientData, methods: Iterable[str]) -> pd.DataFrame:
    """Predict every measured (CNN, sub-batch) pair of ``data``.

    Returns
    -------
    DataFrame
        ``cnn, subbatch_size, measured_s`` and one column ``<method>_s`` a method, seconds; pairs that run a kernel the model
        never saw hold NaN. Where a device's busy time is known also ``measured_busy_s`` and ``<method>_busy_s``.
    """
    steps = data.steps.reset_index(drop=True)
    run = steps.assign(run=np.arange(len(steps)))[[*STEP_KEYS, "run"]]
    calls = data.calls.merge(run, on=STEP_KEYS, how="inner")
    known = ~calls["run"].isin(calls.loc[~calls["kernel"].isin(model.kernels), "run"].unique())
    calls = calls[known].reset_index(drop=True)
    table = steps[STEP_KEYS].assign(measured_s=steps["step_s"])
    busy_known = bool(steps["busy_s"].notna().any())
    if busy_known:
        table = table.assign(measured_busy_s=steps["busy_s"])
    present = np.unique(calls["run"])

    def of_all(seconds: Callable[[pd.DataFrame, FloatArray], FloatArray], times: FloatArray) -> FloatArray:
        every = np.full(len(steps), np.nan)
        if len(present):
            every[present] = seconds(calls, times)[present]
        return every

    for method in methods:
        times = model.call_times(calls, method)
        table[f"{method}_s"] = of_all(model.step_times, times)
        if busy_known:
            table[f"{method}_busy_s"] = of_all(model.busy_times, times)
    return table


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """Predictions of CNNs that the fit had not seen.

    ``steps``: one row a (CNN, sub-batch), as `predicted_steps`. ``calls``: one row a kernel call: ``kernel, cnn, time_s,
    in_range`` and ``<method>_s``, seconds.
    """

    steps: pd.DataFrame
    calls: pd.DataFrame


def leave_groups_out(
    data: GradientData,
    folds: Sequence[list[str]],
    *,
    methods: Sequence[str] = tuple(METHODS),
    table: Mapping[str, Method] = METHODS,
    complete: Complete | None = None,
    seed: int = 0,
    jobs: int = 1,
) -> LeftOut:
    """Predict each fold's CNNs from a model fitted on all the others.

    Parameters
    ----------
    data : GradientData
        Medians over rounds.
    folds : sequence of list of str
        CNN names, each in at most one fold.
    methods, seed, jobs
        Methods to score, seed of the learnt residual, parallel workers (results do not depend on it).
    table : mapping of str to Method
        What the methods are (see `fit_gradient`).
    complete : callable, optional
        ``complete(trained_calls, left_out_calls)`` returns both as a prediction would know them.

    Raises
    ------
    FitError
        A fold leaves nothing to train on.
    """

    def one(fold: list[str]) -> LeftOut:
        model, train, test = fit_without(data, fold, methods=methods, table=table, complete=complete, seed=seed)
        return LeftOut(predicted_steps(model, test, methods), predicted_calls(model, train.calls, test.calls, methods))

    parts = Parallel(n_jobs=jobs)(delayed(tied(one))(fold) for fold in tracked(folds, "networks left out, fold"))
    return LeftOut(
        pd.concat([part.steps for part in parts], ignore_index=True), pd.concat([part.calls for part in parts], ignore_index=True)
    )


def fit_without(
    data: GradientData,
    fold: Sequence[str],
    *,
    methods: Sequence[str],
    table: Mapping[str, Method],
    complete: Complete | None = None,
    seed: int = 0,
) -> tuple[GradientModel, GradientData, GradientData]:
    """Fit gradient time without the CNNs of a fold; parameters as `leave_groups_out`.

    Returns
    -------
    tuple
        The model, what it was trained on, and what was left out, both as a prediction would know them.

    Raises
    ------
    FitError
        The fold leaves nothing to train on.
    """
    train = data.only([name for name in data.steps["cnn"].unique() if name not in fold])
    if train.calls.empty:
        raise FitError("got one CNN, expected at least two to leave one out", hint="Collect more CNNs.")
    test = data.only(list(fold))
    if complete is not None:
        known, unseen = complete(train.calls, test.calls)
        train, test = replace(train, calls=known), replace(test, calls=unseen)
    model = fit_gradient(train.calls, None, data.backend, methods=methods, table=table, seed=seed)
    return replace(model, launches=train.launches, gaps=train.gaps), train, test


def predicted_calls(model: GradientModel, trained: pd.DataFrame, calls: pd.DataFrame, methods: Iterable[str]) -> pd.DataFrame:
    """Every measured call whose kernel the model knows: ``kernel, cnn, time_s, in_range`` and ``<method>_s``, seconds."""
    known = calls[calls["kernel"].isin(model.kernels)].reset_index(drop=True)
    table = known[["kernel", "cnn", "time_s"]].assign(in_range=_in_range(trained, known))
    for method in methods:
        table[f"{method}_s"] = model.call_times(known, method)
    return table


def _in_range(trained: pd.DataFrame, calls: pd.DataFrame) -> BoolArray:
    """Whether every size of a call lies in the range that its kernel was trained on."""
    ranges = trained.groupby("kernel")[list(SIZE_COLUMNS)].agg(["min", "max"])
    own = ranges.loc[calls["kernel"]]
    inside = [
        (calls[name].to_numpy() >= own[name]["min"].to_numpy()) & (calls[name].to_numpy() <= own[name]["max"].to_numpy())
        for name in SIZE_COLUMNS
    ]
    return np.asarray(np.logical_and.reduce(inside))


def kernel_accuracy(calls: pd.DataFrame, methods: Sequence[str] = tuple(METHODS)) -> pd.DataFrame:
    """Left-out errors by kernel and method: ``kernel, method, n, mape, median, q3, max, bias, nonpositive, outside_share``."""
    rows = []
    for kernel, part in calls.groupby("kernel", sort=True):
        for method in methods:
            summary = relative_errors(part[f"{method}_s"].to_numpy(float), part["time_s"].to_numpy(float))
            figures = {name: getattr(summary, name) for name in ERROR_COLUMNS}
            rows.append({"kernel": kernel, "method": method, **figures, "outside_share": 1.0 - part["in_range"].mean()})
    return pd.DataFrame(rows, columns=["kernel", "method", *ERROR_COLUMNS, "outside_share"])


def leave_one_cnn_out(
    data: GradientData,
    *,
    methods: Sequence[str] = tuple(METHODS),
    table: Mapping[str, Method] = METHODS,
    seed: int = 0,
    jobs: int = 1,
) -> LeftOut:
    """Leave out one CNN at a time with all its sub-batch sizes; parameters as `leave_groups_out`."""
    folds = [[name] for name in data.steps["cnn"].unique()]
    return leave_groups_out(data, folds, methods=methods, table=table, seed=seed, jobs=jobs)


def train_on_one_cnn(
    data: GradientData,
    *,
    methods: Sequence[str] = ("paper", "ols", "linear"),
    table: Mapping[str, Method] = METHODS,
    seed: int = 0,
    jobs: int = 1,
) -> pd.DataFrame:
    """The paper's own protocol: fit on one CNN, predict all the others; one block of rows a training CNN."""

    def one(name: str) -> pd.DataFrame:
        own = data.only([name])
        fitted = fit_gradient(own.calls, None, data.backend, methods=methods, table=table, seed=seed)
        model = replace(fitted, launches=own.launches, gaps=own.gaps)
        others = [other for other in data.steps["cnn"].unique() if other != name]
        return predicted_steps(model, data.only(others), methods).assign(trained_on=name)

    parts: list[pd.DataFrame] = Parallel(n_jobs=jobs)(delayed(tied(one))(name) for name in data.steps["cnn"].unique())
    return pd.concat(parts, ignore_index=True)


def check_predictable(predictions: pd.DataFrame, calls: pd.DataFrame) -> None:
    """Accept left-out predictions of which there is at least one.

    Parameters
    ----------
    predictions : DataFrame
        As `predicted_steps` gives them, of every CNN left out.
    calls : DataFrame
        All measured kernel calls: ``cnn``, ``kernel``.

    Raises
    ------
    FitError
        Every CNN runs a kernel that the others were measured with too rarely; names them.
    """
    if predictions.filter(regex="_s$").drop(columns=predictions.filter(regex="^measured_").columns).notna().to_numpy().any():
        return
    lacking = {cnn: few for cnn in predictions["cnn"].unique() if (few := too_few(calls, str(cnn)))}
    words = "; ".join(f"without {cnn} there are {few}" for cnn, few in lacking.items())
    raise FitError(
        f"no CNN can be predicted from the others, so that no error is known: {words}; expected at least {LEAST_ROWS} of each",
        hint="Measure further CNNs that run these kernels, or more sizes: mlperf collect --generate 4 --subbatch 1,2,4,8.",
    )


def too_few(calls: pd.DataFrame, cnn: str) -> str:
    """Kernels of a CNN of which the others have fewer calls than a fit needs: ``"2 calls of softmax, 3 of pool"``."""
    others = calls.loc[calls["cnn"] != cnn, "kernel"].value_counts()
    own = calls.loc[calls["cnn"] == cnn, "kernel"].unique()
    few = [(int(others.get(kernel, 0)), kernel) for kernel in own if others.get(kernel, 0) < LEAST_ROWS]
    return ", ".join(f"{number} {'calls ' if place == 0 else ''}of {kernel}" for place, (number, kernel) in enumerate(sorted(few)))


def errors(predictions: pd.DataFrame, method: str) -> ErrorSummary:
    """Errors of one method over the predictable rows."""
    rows = predictions.dropna(subset=[f"{method}_s"])
    return relative_errors(rows[f"{method}_s"].to_numpy(float), rows["measured_s"].to_numpy(float))


def accuracy_table(predictions: pd.DataFrame, data: GradientData, methods: Sequence[str] = tuple(METHODS)) -> pd.DataFrame:
    """One row a method: MAPE, median, third quartile, maximum and bias (fractions), beside how far halves of the rounds differ."""
    rows = []
    for method in methods:
        summary = errors(predictions, method)
        known = predictions[f"{method}_s"].notna()
        counts = {"method": method, "n_rows": int(known.sum()), "n_unpredictable": int((~known).sum())}
        figures = {name: getattr(summary, name) for name in ("mape", "median", "q3", "max", "bias")}
        rows.append({**counts, **figures, "noise_floor": data.noise_floor})
    return pd.DataFrame(rows)
