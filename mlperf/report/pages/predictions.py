"""How predictions are shown: one configuration in full, several as one table, or beside measurements; bars of the breakdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.report.figures.figures import in_short
from mlperf.report.figures.plots import component_bars, measured_predicted
from mlperf.report.pages.prediction_details import detail_sections, detailed_figure
from mlperf.report.text.answer import count_text, listed, short_epoch_lines, unmeasured_lines
from mlperf.report.text.numbers import percent_text, seconds_alike
from mlperf.report.text.views import Section
from mlperf.report.text.words import words_section
from mlperf.systems.sprint.solved import SIMULATION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.planning.compare import Comparison
    from mlperf.planning.run_prediction import Prediction
    from mlperf.planning.systems.prediction import SystemPrediction

KEYS = ("cnn", "n_nodes", "n_gpus_per_node", "subbatch_size")
LESS_OF_CONFIGURATIONS = (
    *(("mean_minibatch_size_low", "mean_minibatch_size_high"), "mean_staleness", "update_iteration_s", "gpu_iteration_s"),
    ("epoch_low_s", "epoch_high_s"),
)
LESS_OF_OUTPUTS = ("linear_model", ("mean_low", "mean_high"))
LESS_OF_ERRORS = ("bias", "q3", "third_quartile_error", "median", "median_error", "mean_error", "n", "log_ratio", "kendall_tau")
LESS_OF_ROWS = (
    *("explained", "explained_s", "in_training", "run", "mode", ("lower", "upper"), ("lower_s", "upper_s"), "n_gpus_per_node"),
    *("inside", "in_domain"),
)
PREDICTED_WORDS = (
    *("gpu iteration", "update iteration", "component", "sub-batch", "mean mini-batch", "staleness"),
    *("assumed", "in domain", "interval of the mean"),
)
WORTH_TELLING = 0.05
NEGLIGIBLE = 1e-15
"""Part of an epoch below which a time is nothing but the tail of a distribution."""
TIMES = ("epoch_s", "gpu_iteration_s", "update_iteration_s")
MINIBATCH = "mean_minibatch_size"


def prediction_sections(result: Prediction) -> tuple[Section, ...]:
    """One configuration in full, with both breakdowns; several as one row each; then what else was asked for."""
    shown = (
        one_configuration(result)
        if len(result.cnn) == 1
        else (Section("Predictions", configurations(result), secondary=LESS_OF_CONFIGURATIONS),)
    )
    return (*shown, *observed_section(result), *detail_sections(result), *notes(result), words_section(*PREDICTED_WORDS))


def observed_section(result: Prediction | SystemPrediction) -> tuple[Section, ...]:
    """Factors that measurements gave the components."""
    if result.observed is None:
        return ()
    title = "Factors of the measured steps (measured share: how much they weigh beside the model)"
    told = "\n".join(f"{note[:1].upper()}{note[1:]}." for note in result.observed_notes)
    return (Section(title, result.observed), *([Section("", text=told)] if told else []))


def configurations(result: Prediction) -> pd.DataFrame:
    """One row a configuration: keys, outputs, the 95 % interval of a run, and whether all of it lies in the measured domain."""
    frame = result.to_frame()
    columns = list(KEYS)
    for name in ("epoch_s", MINIBATCH):
        stem, unit = (name[:-2], "_s") if name.endswith("_s") else (name, "")
        frame[f"{stem}_low{unit}"] = frame[f"{name}_run_lower"]
        frame[f"{stem}_high{unit}"] = frame[f"{name}_run_upper"]
        columns += [name, f"{stem}_low{unit}", f"{stem}_high{unit}"]
    frame["in_domain"] = frame[[f"{name}_in_domain" for name in (*TIMES, MINIBATCH)]].all(axis=1)
    return frame[[*columns, "gpu_iteration_s", "update_iteration_s", "mean_staleness", "in_domain"]]


def one_configuration(result: Prediction) -> tuple[Section, ...]:
    """Heading, outputs with both intervals, and the breakdown of either thread."""
    run = result.run
    title = (
        f"{result.cnn[0]} on {count_text(int(run.n_nodes[0]), 'node')} x {count_text(int(run.n_gpus_per_node[0]), 'GPU')}, "
        f"sub-batch {int(run.subbatch_size[0])}, {int(run.dataset_size[0]):,} samples an epoch"
    )
    parts = result.breakdown(0).rename(columns={"seconds": "time_s"})
    parts["time_s"] = parts["time_s"].where(parts["time_s"] >= NEGLIGIBLE * float(result.epoch_s[0]), 0.0)
    threads = [
        Section(f"{label} iteration", parts[parts["activity"] == activity].drop(columns="activity"))
        for activity, label in (("gpu", "GPU thread, one"), ("update", "Update thread, one"))
    ]
    return (Section(title, outputs(result), secondary=LESS_OF_OUTPUTS), *threads)


def outputs(result: Prediction) -> pd.DataFrame:
    """One row an output: value, interval of the mean and of a run, in-domain flag; times as `Seconds`."""
    rows = []
    for name in (*TIMES, MINIBATCH):
        mean, one_run = result.confidence_interval[name], result.prediction_interval[name]
        figures = (getattr(result, name), result.explained[name], mean.lower, mean.upper, one_run.lower, one_run.upper)
        numbers = [float(figure[0]) for figure in figures]
        shown = seconds_alike(numbers) if name.endswith("_s") else numbers
        named = dict(zip(("value", "linear_model", "mean_low", "mean_high", "run_low", "run_high"), shown, strict=True))
        label = name.removesuffix("_s").replace("_", " ")
        rows.append({"output": label, **named, "in_domain": bool(result.in_domain[name][0])})
    return pd.DataFrame(rows, dtype=object)


def notes(result: Prediction) -> tuple[Section, ...]:
    """What the reader must know: interval meaning, assumed components, raised flags."""
    level = 100 * next(iter(result.prediction_interval.values())).level
    lines = [
        f"low and high: {level:g} % interval, of the mean over runs (mean) and of a single run (run); {form_text(result)}.",
        "linear model: kernel times from the terms that AIC chose, the model that `mlperf report` explains.",
    ]
    lines += waiting_lines(result)
    run = result.run
    at_once = run.n_nodes * run.n_gpus_per_node * run.subbatch_size
    lines += short_epoch_lines(run.dataset_size, np.maximum(at_once, result.mean_minibatch_size))
    lines += unmeasured_lines([name for name, source in result.source.items() if source == "assumed"])
    for name, raised in result.flags.items():
        if raised.any():
            lines.append(f"Flag {name}: {int(raised.sum())} of {raised.size} configurations.")
    lines += recommendations(result)
    return (Section("", text="\n".join(lines)),)


def waiting_lines(result: Prediction) -> list[str]:
    """How much of the gradient's time a device waits for the host, where that is worth a change."""
    shares = result.waiting_share
    if shares is None or shares.max() < WORTH_TELLING:
        return []
    low, high = percent_text(float(shares.min())), percent_text(float(shares.max()))
    told = high if len(shares) == 1 else f"{low} to {high}"
    remedy = "larger sub-batches, or captured graphs, fill it"
    return [f"compute_gradient: the device waits for the host to launch kernels for {told} of it; {remedy}."]


def form_text(result: Prediction) -> str:
    """Which form of the equations was solved."""
    return f"closed form {result.closed}" if result.refine is None else f"closed form {result.closed}, refined by {result.refine}"


def recommendations(result: Prediction) -> list[str]:
    """Where the simulation is to be believed, and how to ask for it."""
    count = result.recommended.count(SIMULATION)
    if not count or result.simulation is not None:
        return []
    return [f"{count} of {len(result.cnn)} configurations: a raised flag names what no equation sees (--simulate)."]


MOST_CONFIGURATIONS = 8
"""In a picture."""
LONGEST_NAME = 20
"""Letters of a network's name in a picture; what runs it stands behind."""


def prediction_figure(result: Prediction) -> Figure:
    """Bars of both threads' components, for at most eight configurations; of one configuration its distributions as well."""
    bars = {}
    for index in range(min(MOST_CONFIGURATIONS, len(result.cnn))):
        name = in_short(result.cnn[index], LONGEST_NAME)
        label = f"{name}, {int(result.run.n_nodes[index])} x {int(result.run.n_gpus_per_node[index])} GPUs"
        label = f"{label}, sub-batch {int(result.run.subbatch_size[index])}"
        for thread, parts in (("GPU", result.gpu_breakdown_s), ("update", result.update_breakdown_s)):
            bars[f"{label}: {thread}"] = {name: float(part[index]) for name, part in parts.items()}
    if len(result.cnn) > 1 or result.minibatch is None:
        some = f", first {MOST_CONFIGURATIONS} of {len(result.cnn)} configurations" if len(result.cnn) > MOST_CONFIGURATIONS else ""
        return component_bars(bars, title=f"One iteration of each thread{some}")
    threads = {f"{name.rpartition(': ')[2]} thread": parts for name, parts in bars.items()}
    return detailed_figure(result, threads, f"One iteration of each thread: {next(iter(bars)).rpartition(': ')[0]}")


MEASURES = ("measured", "predicted", "explained", "lower", "upper")


def comparison_sections(result: Comparison) -> tuple[Section, ...]:
    """Errors of each quantity, then its rows."""
    summary = result.summary().rename(columns={"max": "max_error", "bias": "mean_error"})
    rows = [
        Section(quantity_title(quantity), quantity_rows(quantity, table), secondary=LESS_OF_ROWS)
        for quantity, table in quantities(result)
    ]
    left = [f"{name} ({listed(kernels.split(', '))})" for name, kernels in result.unpredictable.items()]
    untold = (
        [Section("", text=f"Not predicted, since the model was not trained on such kernels: {'; '.join(left)}.")] if left else []
    )
    return (Section("Predicted against measured", summary, secondary=LESS_OF_ERRORS), *untold, *rows)


def quantities(result: Comparison) -> list[tuple[str, pd.DataFrame]]:
    """Rows of each quantity, in the table's order."""
    return [(str(name), rows) for name, rows in result.table.groupby("quantity", sort=False)]


def quantity_title(quantity: str) -> str:
    """The quantity without its unit, for a heading."""
    return (quantity if quantity.endswith("per_s") else quantity.removesuffix("_s")).replace("_", " ")


def quantity_rows(quantity: str, table: pd.DataFrame) -> pd.DataFrame:
    """Rows of one quantity; its unit moves into the names of the columns."""
    unit = "_s" if quantity.endswith("_s") and not quantity.endswith("per_s") else ""
    named = {name: f"{name}{unit}" for name in MEASURES}
    return table.drop(columns="quantity").rename(columns=named).dropna(axis="columns", how="all")


def comparison_figure(result: Comparison) -> Figure:
    """Measured against predicted of the first quantity, with 95 % bars; training and unseen networks apart."""
    quantity, table = quantities(result)[0]
    groups = table["in_training"].map({True: "trained on", False: "unseen"}).tolist()
    return measured_predicted(
        table["measured"].to_numpy(float),
        table["predicted"].to_numpy(float),
        lower_s=table["lower"].to_numpy(float),
        upper_s=table["upper"].to_numpy(float),
        groups=groups,
        title="Predicted against measured",
        quantity=quantity_title(quantity),
    )
