"""Figures 7 and 8: gradient time of whole networks and of their kernels, measured and predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.datasets.dictionary.schema import PRODUCTS
from mlperf.studies.paper.figure_inputs import FigureInputs
from mlperf.training.gradient.gradient import PREDICTOR, GradientModel
from mlperf.training.gradient.gradient_accuracy import fit_without, predicted_steps
from mlperf.training.gradient.gradient_data import STEP_KEYS, GradientData, waited_steps
from mlperf.training.model import Model

PAPER = "paper"
SUBBATCH_OF_PAPER = 4


def step_spread(material: FigureInputs, *, busy: bool = False) -> pd.DataFrame:
    """Whole steps over their rounds: ``cnn, subbatch_size, measured_s`` (median), ``min_s``, ``max_s``, ``n_rounds``.

    With ``busy`` the time that a device works, where it is known: what its kernels add up to.
    """
    backend = material.gradient.backend
    steps, kernels = (table[table["backend"] == backend] for table in map(material.campaign.table, ("steps", "kernels")))
    waited = waited_steps(steps, kernels, backend)
    clock = "busy_s" if busy and waited["busy_s"].notna().any() else "step_s"
    times = waited.groupby(STEP_KEYS, sort=True)[clock]
    table: pd.DataFrame = times.agg(measured_s="median", min_s="min", max_s="max", n_rounds="size").reset_index()
    return table


def gradient_steps(material: FigureInputs) -> tuple[pd.DataFrame, str]:
    """Measured steps compared with predictions by models that had not seen their network (figure 7).

    Returns
    -------
    table : DataFrame
        `step_spread` with ``predicted_s`` (the default method) and ``paper_s`` (the paper's method), seconds; NaN where a network
        runs a kernel that the model does not know.
    how : str
        How they were predicted, for the caption.
    """
    methods = (PREDICTOR, PAPER)
    columns = [f"{method}_s" for method in methods]
    model, spread = material.model, step_spread(material)
    seen = [name for name in spread["cnn"].unique() if material.is_own_model and name in model.cnns]
    unseen = [name for name in spread["cnn"].unique() if name not in seen]
    parts, how = [], []
    if seen:
        known = model.score.predictions
        parts.append(known.loc[known["cnn"].isin(seen), [*STEP_KEYS, *columns]])
        how.append("networks are predicted by models fitted on other networks (folds)")
    if unseen:
        parts.append(predicted_steps(model.gradient, own_isolated(material, unseen), methods)[[*STEP_KEYS, *columns]])
        how.append(f"{'other ' if seen else ''}networks are predicted by a model that {not_seen(model, unseen)}")
    predicted = pd.concat(parts, ignore_index=True).rename(columns={f"{PREDICTOR}_s": "predicted_s", f"{PAPER}_s": "paper_s"})
    return spread.merge(predicted, on=STEP_KEYS, how="left"), "; ".join(how)


def not_seen(model: Model, cnns: Sequence[str], who: str = "them") -> str:
    """What a model of other data knows of networks: nothing, or as much as the names of those that it was trained on tell.

    A campaign that grew since, or a part of one, is other data with networks of the same names, and maybe the same rows.
    """
    named = [name for name in cnns if name in model.cnns]
    if not named:
        return f"has not seen {who}"
    some = "" if len(named) == len(cnns) else f"{len(named)} of "
    return f"was trained on other data with networks of {some}these names, and may have seen {who}"


def own_isolated(material: FigureInputs, cnns: list[str]) -> GradientData:
    """Rows of some networks with what the model reads besides sizes, as of its own machine."""
    data, model = material.gradient.only(cnns), material.model.gradient
    if not isinstance(model, GradientModel):
        return data
    calls = data.calls.drop(columns=["isolated_s", "isolated_in_domain"])
    return replace(data, calls=model.described(calls, material.campaign.cnns))


def spread_of_networks(material: FigureInputs, table: pd.DataFrame, most: int) -> list[str]:
    """The networks asked for, else some from the fastest to the slowest."""
    largest = table.groupby("cnn")["measured_s"].max().sort_values()
    if material.cnns:
        return [name for name in material.cnns if name in largest.index]
    several = table.groupby("cnn").size()
    drawable = largest[several[largest.index] > 1] if (several > 1).any() else largest
    places = np.unique(np.linspace(0, len(drawable) - 1, most).round().astype(int))
    return [str(name) for name in drawable.index[places]]


def kernel_shares(material: FigureInputs) -> tuple[pd.DataFrame, str, int, str]:
    """Time of each kernel in one step of one network, measured and predicted without that network (figure 8).

    Returns
    -------
    table : DataFrame
        One row a kernel, the slowest first: ``kernel, is_product, n_calls, measured_s, predicted_s, paper_s``, seconds; the
        predictions are NaN where no other network runs the kernel.
    cnn, subbatch_size
        Which step.
    how : str
        How it was predicted.
    """
    cnn, size = chosen_step(material)
    data = material.gradient
    calls = data.calls[(data.calls["cnn"] == cnn) & (data.calls["subbatch_size"] == size)].reset_index(drop=True)
    given = material.given
    kernels = None if given is None else given.gradient
    if given is not None and isinstance(kernels, GradientModel) and not (material.is_own_model and cnn in given.cnns):
        model = kernels
        calls = model.described(calls.drop(columns=["isolated_s", "isolated_in_domain"]), material.campaign.cnns)
        how = f"predicted by a model that {not_seen(given, [cnn], 'the network')}"
    else:
        own = material.characteristics
        model, train, test = fit_without(own.data, [cnn], methods=(PREDICTOR, PAPER), table=own.table, seed=material.seed)
        calls = test.calls[test.calls["subbatch_size"] == size].reset_index(drop=True)
        how = f"predicted by a model fitted on the {train.steps['cnn'].nunique()} other networks"
    predicted = {name: np.full(len(calls), np.nan) for name in (PREDICTOR, PAPER)}
    known = calls["kernel"].isin(model.kernels).to_numpy()
    for name, seconds in predicted.items():
        if known.any():
            seconds[known] = model.call_times(calls[known].reset_index(drop=True), name)
    timed = calls.assign(measured_s=calls["time_s"], predicted_s=predicted[PREDICTOR], paper_s=predicted[PAPER])
    sums = timed.groupby("kernel")[["measured_s", "predicted_s", "paper_s"]].sum(min_count=1)
    table = sums.assign(n_calls=timed.groupby("kernel").size(), is_product=sums.index.isin(PRODUCTS)).reset_index()
    return table.sort_values("measured_s", ascending=False, kind="stable", ignore_index=True), cnn, size, how


def chosen_step(material: FigureInputs) -> tuple[str, int]:
    """The network asked for, else a plain one in the middle of the field; the sub-batch size nearest to the paper's 4."""
    data = material.gradient
    steps = data.steps
    if material.cnns:
        cnn = material.cnns[0]
    else:
        n_kernels = data.calls.groupby("cnn")["kernel"].nunique()
        largest = steps.groupby("cnn")["step_s"].max().sort_values()
        typical = largest[n_kernels[largest.index] == n_kernels.mode().max()]
        cnn = str(typical.index[len(typical) // 2])
    sizes = steps.loc[steps["cnn"] == cnn, "subbatch_size"].to_numpy(int)
    return cnn, int(sizes[np.argmin(np.abs(sizes - SUBBATCH_OF_PAPER))])


def relative_errors_of(table: pd.DataFrame, column: str = "predicted_s") -> FloatArray:
    """|predicted / measured - 1| of the rows that have a prediction."""
    rows = table.dropna(subset=[column])
    return np.asarray(np.abs(rows[column] / rows["measured_s"] - 1.0))
