"""`mlperf.compare_runs`: predictions beside what a campaign measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError
from mlperf.core.shown import Shown
from mlperf.models.uncertainty.intervals import Interval
from mlperf.models.validation.scores import ErrorSummary, relative_errors
from mlperf.planning.inputs import check_kind, machine_of
from mlperf.planning.options import PredictionOptions
from mlperf.planning.predict import predict_configurations
from mlperf.planning.step_prediction import busy_seconds, predict_steps, stand_in_spread, step_calls, step_interval, step_seconds
from mlperf.specs.machine import MachineSpec
from mlperf.systems.sprint.outputs import OUTPUTS
from mlperf.training.gradient.gradient import EXPLAINED, PREDICTOR, GradientModel
from mlperf.training.gradient.gradient_data import measured_steps
from mlperf.training.measured_on import MeasuredOn
from mlperf.training.model import Model

if TYPE_CHECKING:
    from mlperf.datasets import Campaign

CLOCKS = {"step_s": step_seconds, "busy_s": busy_seconds}
"""What a step may be compared by: what training waits for, and for how long of it a device works."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison(Shown):
    """Predicted beside measured.

    Attributes
    ----------
    table : DataFrame
        One row a comparison: keys, ``quantity`` (a column name with its unit), ``measured``, ``predicted``, ``explained``
        (by the linear model whose terms AIC chose), ``lower``,
        ``upper`` (95 % prediction interval), ``relative_error``, ``inside`` (the interval holds the measurement; None where there
        is no interval),
        ``in_domain``, ``in_training``.
    errors : mapping of str to ErrorSummary
        By quantity.
    coverage : mapping of str to float
        Share of measurements inside their interval, of those that have one, by quantity; NaN where none has.
    measured_on : MeasuredOn or None
        Where the model's times come from; None where its file does not tell.
    other_machine : tuple of str
        How the machine of the measurements differs from that one; nothing is in the domain where it does.
    unpredictable : mapping of str to str
        Measured networks without a prediction, which no row stands for: kernels of theirs that the model was not trained on.
    """

    table: pd.DataFrame
    errors: dict[str, ErrorSummary]
    coverage: dict[str, float]
    measured_on: MeasuredOn | None = None
    other_machine: tuple[str, ...] = ()
    unpredictable: Mapping[str, str] = field(default_factory=dict)

    @property
    def mape(self) -> float:
        """The largest mean relative error over the quantities, a fraction."""
        return max(summary.mape for summary in self.errors.values())

    def summary(self) -> pd.DataFrame:
        """One row a quantity: n, MAPE, maximum, bias (fractions), Kendall tau, coverage."""
        return pd.DataFrame(
            [
                {
                    "quantity": name,
                    "n": item.n,
                    "mape": item.mape,
                    "max": item.max,
                    "bias": item.bias,
                    "kendall_tau": item.kendall_tau,
                    "coverage": self.coverage[name],
                }
                for name, item in self.errors.items()
            ]
        )

    def to_frame(self) -> pd.DataFrame:
        """The table, one row a comparison."""
        return self.table


def compare_runs(
    model: Model,
    campaign: Campaign | str | Path,
    *,
    cnns: Sequence[str] | None = None,
    machine: MachineSpec | str | Path | None = None,
    method: str = PREDICTOR,
    backend: str | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Set predictions beside a campaign's asynchronous runs or, where it has none, beside its training steps.

    Parameters
    ----------
    model : Model
        From `mlperf.train`.
    campaign : Campaign, str or Path
        Whose ``runs.csv`` or ``steps.csv`` holds the measurements.
    cnns : sequence of str, optional
        Only these CNNs; default all.
    machine : MachineSpec, str or Path, optional
        Of asynchronous runs; by default as large as they were, with the network that their ``host.json`` says was waited for.
    method : str
        A key of `mlperf.training.gradient.gradient.METHODS`.
    backend : str, optional
        Whose training steps, where the campaign calls its engine otherwise than the one that the model was trained on.
    level, seed
        Of the prediction intervals.

    Raises
    ------
    DataError
        Nothing to compare with; or the model needs a network's speed and nobody said it.
    UsageError
        Unknown method, or a model of a table.
    """
    from mlperf.datasets import Campaign, read_campaign

    check_kind(model)
    found = campaign if isinstance(campaign, Campaign) else read_campaign(campaign)
    options = PredictionOptions(method=method, level=level, seed=seed)
    unpredictable: Mapping[str, str] = {}
    if found.runs is not None:
        where = machine_of_runs(found) if machine is None else machine_of(machine)
        table = _runs_table(model, found, where, options)
    else:
        steps = _only(measured_steps(found, backend or model.gradient.backend), cnns)
        unpredictable = unknown_kernels(model, found, steps["cnn"].unique()) if cnns is None else {}
        steps = steps[~steps["cnn"].isin(list(unpredictable))].reset_index(drop=True)
        _check_rows(steps, found, unpredictable)
        table = _steps_table(model, found, steps, options)
    table = _only(table, cnns)
    _check_rows(table, found, unpredictable)
    known = model.measured_on
    differences = () if known is None else known.differences(MeasuredOn.of(found, model.gradient.backend))
    if differences:
        table = table.assign(in_domain=False)
    return replace(comparison(table), measured_on=known, other_machine=differences, unpredictable=unpredictable)


def unknown_kernels(model: Model, campaign: Campaign, names: Iterable[str]) -> dict[str, str]:
    """By network: the kernels that its steps run and the model was not trained on; networks without such are not listed."""
    if not isinstance(model.gradient, GradientModel):
        return {}
    calls = model.gradient.calls((campaign.cnns[name], 1) for name in names)
    unknown = calls[~calls["kernel"].map(model.gradient.fitted_as).isin(model.gradient.kernels)]
    return {str(name): ", ".join(rows["kernel"].unique()) for name, rows in unknown.groupby("cnn", sort=False)}


def _only(table: pd.DataFrame, cnns: Sequence[str] | None) -> pd.DataFrame:
    return table if cnns is None else table[table["cnn"].isin(list(cnns))].reset_index(drop=True)


def _check_rows(table: pd.DataFrame, campaign: Campaign, unpredictable: Mapping[str, str]) -> None:
    """Refuse to compare nothing."""
    if not table.empty:
        return
    if unpredictable:
        name, kernels = next(iter(unpredictable.items()))
        hint = "Train on a campaign with such layers (mlperf collect kernels steps --cnn)."
        raise DataError(f"no network can be predicted: {name} runs {kernels}, not trained on", place=str(campaign.path), hint=hint)
    raise DataError("got no measured row of those CNNs, expected at least one", place=str(campaign.path))


def comparison(table: pd.DataFrame) -> Comparison:
    """Summarise a table of measured and predicted values by ``quantity``."""
    errors, coverage = {}, {}
    for quantity, rows in table.groupby("quantity", sort=False):
        errors[str(quantity)] = relative_errors(rows["predicted"], rows["measured"])
        coverage[str(quantity)] = float(rows["inside"].dropna().astype(float).mean())
    return Comparison(table, errors, coverage)


def machine_of_runs(campaign: Campaign) -> MachineSpec:
    """The machine that asynchronous runs tell of: their nodes and GPUs, and the network they waited for where none was real.

    Raises
    ------
    DataError
        ``host.json`` holds another thing than numbers in the place of the network's latency and speed.
    """
    runs = campaign.table("runs")
    is_waited = "network" in campaign.told("protocol", "asgd", "waits")
    # Where runs in which everything was real came last, the record still tells of the network that those before waited for.
    waited = campaign.told("protocol", "asgd", "network" if is_waited else "network_waited")
    return MachineSpec(
        campaign.name,
        max_nodes=int(runs["n_nodes"].max()),
        n_gpus_per_node=int(runs["n_gpus_per_node"].max()),
        latency_s=waited.get("latency_s"),
        bandwidth_bytes_per_s=waited.get("bytes_per_s"),
    )


def _steps_table(model: Model, campaign: Campaign, steps: pd.DataFrame, options: PredictionOptions) -> pd.DataFrame:
    names, position = _positions(steps["cnn"])
    configs = pd.DataFrame({"cnn": position, "subbatch_size": steps["subbatch_size"].astype(int)})
    calls = step_calls(model.gradient, [campaign.cnns[name] for name in names], configs)
    predicted = predict_steps(model.gradient, calls, options.method)
    explained = {name: told(model.gradient, calls, EXPLAINED) for name, told in CLOCKS.items()}
    knows_busy = "measured_busy_s" in model.score.predictions and bool(steps["busy_s"].notna().all())
    parts = [("", "step_s"), *([("busy_", "busy_s")] if knows_busy else [])]
    further = stand_in_spread(model.gradient, calls, options.method)
    return pd.concat(
        [
            beside(
                steps[["cnn", "subbatch_size"]],
                (name, steps[name]),
                {"predicted": getattr(predicted, name), "explained": explained[name]},
                step_interval(model.score, options.method, getattr(predicted, name), options.level, part=part, further=further),
                in_domain=predicted.in_domain,
                in_training=steps["cnn"].isin(model.cnns),
            )
            for part, name in parts
        ],
        ignore_index=True,
    )


def _runs_table(model: Model, campaign: Campaign, machine: MachineSpec, options: PredictionOptions) -> pd.DataFrame:
    runs = campaign.table("runs")
    names, position = _positions(runs["cnn"])
    dataset_size = runs["epoch_s"] * runs["n_nodes"] * runs["n_gpus_per_node"] * runs["subbatch_size"] / runs["gpu_iteration_s"]
    configs = runs[["n_nodes", "n_gpus_per_node", "subbatch_size"]].assign(
        cnn=position,
        dataset_size=np.maximum(np.rint(dataset_size), 1).astype(int),
    )
    prediction = predict_configurations(model, [campaign.cnns[name] for name in names], machine, configs, options)
    keys = runs[["run", "mode", "cnn", "n_nodes", "n_gpus_per_node", "subbatch_size"]]
    parts = [
        beside(
            keys,
            (name, runs[name]),
            {"predicted": getattr(prediction, name), "explained": prediction.explained[name]},
            prediction.prediction_interval[name],
            in_domain=prediction.in_domain[name],
            in_training=runs["cnn"].isin(model.cnns),
        )
        for name in OUTPUTS
    ]
    return pd.concat(parts, ignore_index=True)


def beside(
    keys: pd.DataFrame,
    measured: tuple[str, pd.Series | FloatArray],
    predicted: Mapping[str, FloatArray],
    interval: Interval,
    *,
    in_domain: BoolArray,
    in_training: pd.Series | BoolArray,
) -> pd.DataFrame:
    """Rows of `Comparison.table`: a quantity's name and measurements, and what was predicted of them."""
    flags = {"in_domain": in_domain, "in_training": in_training}
    table = keys.assign(
        quantity=measured[0], measured=measured[1], **predicted, lower=interval.lower, upper=interval.upper, **flags
    )
    known, inside = table["lower"].notna(), (table["lower"] <= table["measured"]) & (table["measured"] <= table["upper"])
    return table.assign(
        relative_error=table["predicted"] / table["measured"] - 1.0,
        inside=inside if known.all() else inside.astype(object).where(known, None),
    )


def _positions(cnn: pd.Series) -> tuple[list[str], pd.Series]:
    """Names of networks in their order, and each row's position among them."""
    names = sorted(cnn.unique())
    return names, cnn.map({name: position for position, name in enumerate(names)})
