"""Why a prediction lies outside the measured domain: which kernel or component, which size, how far, and what share of the time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import DomainError
from mlperf.features.network.layer_terms import fitted_kernels
from mlperf.models.uncertainty.domain import DomainCheck
from mlperf.planning.component_times import ASSUMED, GRADIENT, PredictedTimes
from mlperf.planning.inputs import ConfigurationInputs
from mlperf.systems.sprint.components import BY_NAME
from mlperf.training.gradient.gradient import EXPLAINED, GradientModel, step_times
from mlperf.training.gradient.work_model import WorkModel
from mlperf.training.model import Model

COLUMNS = ("configuration", "component", "kernel", "layer", "column", "value", "lower", "upper", "share", "why")
MOST_NAMED = 3
BYTE_UNITS = ("kB", "MB", "GB", "TB")
ASSUMED_WHY = "not measured: assumed from the machine's specification"
UNUSUAL = "a combination of sizes unlike those measured"


def outside_table(
    model: Model, inputs: ConfigurationInputs, predicted: PredictedTimes, breakdown_s: Mapping[str, FloatArray]
) -> pd.DataFrame:
    """List what of each configuration lies outside the measured domain, the largest share first.

    Parameters
    ----------
    model : Model
        What predicts.
    inputs : ConfigurationInputs
        The configurations.
    predicted : PredictedTimes
        Their component times with the flags to explain.
    breakdown_s : mapping of str to array, shape (n_configs,)
        Seconds of each component in one iteration of its thread; what is not there counts as 0.

    Returns
    -------
    DataFrame
        ``configuration`` (position), ``component`` (``all`` where the machine is another), ``kernel`` and ``layer`` (kernels and
        longest call concerned; empty but for the gradient), ``column, value, lower, upper`` (size, asked and measured; NaN where
        no single size is to blame), ``share`` (of its thread's iteration) and ``why`` (a clause).
    """
    shares = _shares(breakdown_s, len(inputs.configs))
    if predicted.other_machine:
        parts = [elsewhere(predicted.other_machine, len(inputs.configs))]
    else:
        parts = [_components(model, inputs, predicted, shares)]
        parts.append(gradient_outside(model, inputs, predicted.in_domain[GRADIENT], predicted.method, shares[GRADIENT]))
    return heaviest_first(parts)


def refuse_outside(model: Model, inputs: ConfigurationInputs, predicted: PredictedTimes, rows: IntArray | None = None) -> None:
    """Raise DomainError naming the first configuration (of ``rows``) outside the measured domain, and why it is."""
    asked = np.arange(len(inputs.configs)) if rows is None else rows
    first = asked[~np.logical_and.reduce(list(predicted.in_domain.values()))[asked]][:1]
    if first.size:
        flags = {name: inside[first] for name, inside in predicted.in_domain.items()}
        of_it = inputs.take(first)
        raise refusal(of_it, outside_table(model, of_it, replace(predicted, in_domain=flags), {}))


def refusal(inputs: ConfigurationInputs, outside: pd.DataFrame) -> DomainError:
    """The error of a configuration, the first of ``inputs``, that lies outside; its first reason is told."""
    row = inputs.configs.iloc[0]
    sizes = f"{row['n_nodes']:g} nodes x {row['n_gpus_per_node']:g} GPUs, sub-batch {row['subbatch_size']:g}"
    return DomainError(
        f"outside the measured domain: {outside['why'].iloc[0]}",
        place=f"CNN {inputs.cnns[int(row['cnn'])].name!r}, {sizes}",
        hint="Measure nearer to it, or drop --strict and read the in-domain flags.",
    )


def heaviest_first(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The rows of several tables, of each configuration those of the largest share first."""
    table = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    return table.sort_values(["configuration", "share"], ascending=[True, False], kind="stable", ignore_index=True)


def _shares(breakdown_s: Mapping[str, FloatArray], n_configs: int) -> dict[str, FloatArray]:
    """Each component's share of its thread's iteration."""
    found = {name: np.zeros(n_configs) for name in BY_NAME}
    for activity in ("gpu", "update"):
        parts = {name: seconds for name, seconds in breakdown_s.items() if BY_NAME[name].activity == activity}
        total = np.sum(list(parts.values()), axis=0)
        found |= {name: np.divide(seconds, total, out=np.zeros_like(total), where=total > 0.0) for name, seconds in parts.items()}
    return found


def elsewhere(other_machine: Sequence[str], n_configs: int) -> pd.DataFrame:
    """Nothing was measured near another machine, whatever the sizes."""
    why = "; ".join(other_machine)
    return pd.DataFrame([(row, "all", "", "", *no_size(), 1.0, why) for row in range(n_configs)], columns=list(COLUMNS))


def _components(
    model: Model, inputs: ConfigurationInputs, predicted: PredictedTimes, shares: Mapping[str, FloatArray]
) -> pd.DataFrame:
    rows = []
    for name, inside in predicted.in_domain.items():
        if name == GRADIENT:
            continue
        checks = checks_of(model, inputs, name)
        for row in map(int, np.flatnonzero(~inside)):
            share = float(shares[name][row])
            if predicted.source[name] == ASSUMED:
                why, size = ASSUMED_WHY, no_size()
            else:
                why, size = first_reason(checks, row)
            rows.append((row, name, "", "", *size, share, f"{name}: {why}"))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def checks_of(model: Model, inputs: ConfigurationInputs, name: str) -> tuple[DomainCheck, ...]:
    """What the fits say that a component's flag comes from; in runs an all-reduce has two."""
    if model.runs is not None and name in model.runs.fits.costs:
        return tuple(part.domain_check(inputs.columns) for part in model.runs.fits.costs[name])
    return (model.components[name].selected.domain_check(inputs.columns),) if name in model.components else ()


def first_reason(checks: Sequence[DomainCheck], row: int) -> tuple[str, tuple[str, float, float, float]]:
    """The reason of the first fit that does not know a row."""
    return next((_reason(check, row) for check in checks if not check.in_domain[row]), (UNUSUAL, no_size()))


def gradient_outside(model: Model, inputs: ConfigurationInputs, inside: BoolArray, method: str, share: FloatArray) -> pd.DataFrame:
    """Why configurations lie outside in the gradient: of ``inside`` (n_configs,), the ``share`` it has of the time (n_configs,)."""
    if inside.all():
        return pd.DataFrame(columns=list(COLUMNS))
    if isinstance(model.gradient, WorkModel):
        return _steps(model, inputs, inside, share, model.gradient)
    return _calls(inputs, inside, share, model.gradient, method)


def _steps(model: Model, inputs: ConfigurationInputs, inside: BoolArray, share: FloatArray, gradient: WorkModel) -> pd.DataFrame:
    """Whole steps outside, where no kernel was measured: kinds of layers that no run had, and the work."""
    rows = []
    check = gradient.fitted.domain_check(inputs.steps.calls)
    for row in map(int, np.flatnonzero(~inside)):
        cnn, step = inputs.cnns[int(inputs.configs["cnn"].iloc[row])], int(inputs.steps.number[row])
        unseen = [] if model.runs is None else model.runs.unseen_layers(cnn)
        why, size = first_reason([check], step)
        if unseen:
            why, size = f"no run had layers of the kind {', '.join(unseen)}", no_size()
        rows.append((row, GRADIENT, "", "", *size, float(share[row]), f"{GRADIENT}: {why}"))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _calls(inputs: ConfigurationInputs, inside: BoolArray, share: FloatArray, gradient: GradientModel, method: str) -> pd.DataFrame:
    """Calls outside, those with the same size to blame together."""
    steps = inputs.steps
    calls = steps.calls
    times = steps.call_times(gradient, method)
    outside = calls.assign(of_step=times / step_times(calls, times)[calls["run"].to_numpy(int)])[~steps.calls_in_domain(gradient)]
    fitted = fitted_kernels(outside)
    found = [_with_reasons(gradient, str(kernel), rows) for kernel, rows in outside.groupby(fitted, sort=False)]
    if not found:
        return pd.DataFrame(columns=list(COLUMNS))
    by_call = pd.concat(found, ignore_index=True).sort_values("of_step", ascending=False, kind="stable")
    keys = ["run", "reason", "column"]
    together = by_call.groupby(keys)
    first = by_call.drop_duplicates(keys).set_index(keys)
    first["of_step"], first["kernel"] = together["of_step"].sum(), together["kernel"].unique().map(_listed)
    first["why"] = first["kernel"] + " (" + first["layer"] + "): " + first["why"]
    asked = pd.DataFrame({"configuration": range(len(steps.number)), "run": steps.number})[~inside]
    table = asked.merge(first.reset_index(), on="run").assign(component=GRADIENT)
    return table.assign(share=table["of_step"] * share[table["configuration"]])[list(COLUMNS)]


def _with_reasons(gradient: GradientModel, kernel: str, rows: pd.DataFrame) -> pd.DataFrame:
    if gradient.fitted_as(kernel) != kernel:
        return _taken_for(gradient, kernel, rows)
    check = gradient.kernels[kernel][EXPLAINED].domain_check(rows)
    reasons = [_reason(check, row) for row in range(len(rows))]
    off_grid = check.in_domain & ~gradient.products_in_domain(kernel, rows)
    sizes = pd.DataFrame([size for _, size in reasons], columns=["column", "value", "lower", "upper"], index=rows.index)
    table = rows[["run", "kernel", "layer", "of_step"]].join(sizes)
    table = table.assign(why=[why for why, _ in reasons], reason=np.where(off_grid, "grid", check.reason))
    products = [f"product {m:,.0f} x {n:,.0f} x {k:,.0f} outside the grid measured" for m, n, k in rows[["m", "n", "k"]].to_numpy()]
    return table.assign(why=np.where(off_grid, products, table["why"]))


def _taken_for(gradient: GradientModel, kernel: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Calls of a kernel that was never measured, and whose times are those of another one of these sizes."""
    column, *size = no_size()
    sizes = dict(zip(("value", "lower", "upper"), size, strict=True))
    known = "measured on too few sizes" if kernel in gradient.too_few else "never measured"
    why = f"{known}, taken for {gradient.fitted_as(kernel)}"
    return rows[["run", "kernel", "layer", "of_step"]].assign(column=column, **sizes, why=why, reason=why)


def _listed(kernels: Sequence[str]) -> str:
    shown = ", ".join(kernels[:MOST_NAMED])
    return shown if len(kernels) <= MOST_NAMED else f"{shown} and {len(kernels) - MOST_NAMED} more kernels"


def _reason(check: DomainCheck, row: int) -> tuple[str, tuple[str, float, float, float]]:
    """A clause, and the size to blame: name, value, measured from, to."""
    column, (lower, upper) = str(check.column[row]), check.range[row]
    if check.reason[row] == "range":
        value = float(check.value[row])
        told = f"{column} = {_size(column, value)}, measured {_size(column, lower)} to {_size(column, upper)}"
        return told, (column, value, float(lower), float(upper))
    if check.reason[row] == "level":
        return f"{column} has a label never measured", (column, np.nan, np.nan, np.nan)
    return UNUSUAL, no_size()


def _size(column: str, value: float) -> str:
    """Three digits; bytes in the unit that reads best."""
    if not column.endswith("_bytes") or abs(value) < 1e3:
        return f"{value:,.3g}" if abs(value) < 1e3 or abs(value) >= 1e7 else f"{value:,.0f}"
    power = min(int(np.log10(abs(value)) // 3), len(BYTE_UNITS))
    return f"{value / 1e3**power:.3g} {BYTE_UNITS[power - 1]}"


def no_size() -> tuple[str, float, float, float]:
    """Column, value and range of a reason that no single size is to blame for."""
    return "", np.nan, np.nan, np.nan
