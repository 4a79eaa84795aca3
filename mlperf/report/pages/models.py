"""How trained models and what they rest on are shown: errors on left-out networks, then each part with its terms."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mlperf.report.figures.figures import PALETTE, single_axes
from mlperf.report.figures.html import Picture
from mlperf.report.pages.fits import fit_sections
from mlperf.report.pages.table_models import LESS_OF_ERRORS, against_left_out, errors_named, table_page, table_sections
from mlperf.report.text.answer import listed
from mlperf.report.text.numbers import percent_text
from mlperf.report.text.views import Section
from mlperf.report.text.words import words_section
from mlperf.training.part_report import parts_frame
from mlperf.training.run_report import run_report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.training.fits.left_out import LeftOutError
    from mlperf.training.gradient.call_gaps import CallGaps
    from mlperf.training.gradient.launches import Launches
    from mlperf.training.model import Model
    from mlperf.training.part_report import PartReport
    from mlperf.training.reported_model import ModelReport, StatsmodelsSummaries
    from mlperf.training.run_report import RunReport

METHODS = {
    "paper": "hand-chosen terms of the paper, plain least squares",
    "ols": "terms chosen by AIC, plain least squares",
    "linear": "terms chosen by AIC, relative errors, calibrated SGEMM",
    "learnt": "non-negative terms and a learnt residual",
}
STEPS_LEFT_OUT = "Training steps of CNNs left out of the fit"
EXPLAINED = "linear"
LESS_OF_PARTS = (
    *("kind", "f_p_value", "f_p_value_groups", "aic", "n_effective", "warnings", "n_rows", "paper_mape", "r2_adj"),
    *("halves_differ", "terms", "formula"),
)
"""What a narrow terminal leaves out of the tables of parts, the first to go first."""
HALVES = {"noise_floor": "halves_differ"}
"""Between two halves of the rounds of one campaign: no floor of errors, and so not shown under the name of one."""
MOST_TOLD = 4
NAMED_PART = "--component NAME shows one"
SHOWN_WEIGHT = 0.05
UNTOLD = (
    "The runs do not tell how the exchange grows with the nodes: several forms fit them equally well. On other numbers of nodes"
    " the prediction is the average of those listed, and the interval holds them. Runs on a third number would tell."
)


def model_sections(model: Model) -> tuple[Section, ...]:
    """What it was trained on and its errors on left-out CNNs; the terms of each kernel and component are details."""
    names = ", ".join(model.cnns)
    backend = model.gradient.backend
    return (
        Section(f"Trained on {len(model.cnns)} CNNs, backend {backend}", text=names),
        *(kernel_sections(model) if model.gradient.kernels else ()),
        *(run_sections(runs) if (runs := run_report(model)) else ()),
        Section(
            "Components: terms chosen by AIC, beside the paper's", component_table(model), secondary=LESS_OF_PARTS, is_detail=True
        ),
        Section("", text=absent_text(model)),
        words_section("left out", "mape", "halves differ", "adjusted R²", "AIC", "component", "assumed"),
    )


def kernel_sections(model: Model) -> tuple[Section, ...]:
    """Errors of steps left out, and the terms of each kernel."""
    return (
        Section(STEPS_LEFT_OUT, accuracy_table(model), secondary=LESS_OF_ERRORS),
        *([Section("", text=told)] if (told := between_text(getattr(model.gradient, "launches", None), _gaps(model))) else []),
        Section("Kernels: terms chosen by AIC", kernel_table(model), secondary=LESS_OF_PARTS, is_detail=True),
    )


def _gaps(model: Model) -> CallGaps | None:
    return getattr(model.gradient, "gaps", None)


def between_text(launches: Launches | None, gaps: CallGaps | None) -> str:
    """What lies between the calls of a step: launching on a device, gaps of a library on a host; empty where nothing does."""
    if launches is not None:
        return launch_text(launches)
    if gaps is None:
        return ""
    told = f"A step takes {1e6 * gaps.layer_s:.3g} µs for each call of a layer beside the time of that call by itself"
    if gaps.autograd_s:
        told += f", and {1e6 * gaps.autograd_s:+.3g} µs where autograd alone knows the way back (both learnt from whole steps)"
    return f"{told}."


def launch_text(launches: Launches) -> str:
    """What launching costs on a device."""
    timed = f"Timing a kernel by itself adds {1e6 * launches.call_s:.3g} µs to it, which a step does not pay."
    if not launches.launch_s:
        return f"{timed} The rows do not tell the device's time from the host's: times hold the gaps between launches."
    host = f"the host takes {1e3 * launches.start_s:.3g} ms, and {1e6 * launches.launch_s:.3g} µs for each layer's call"
    ends = f"A step ends when its last kernel does; {host}: the device waits for it where its own work is shorter."
    if not launches.tells_spreads:
        return f"{ends} {timed}"
    spreads = f"by {percent_text(launches.host_spread)} where the host sets the pace, by {percent_text(launches.device_spread)}"
    return f"{ends} From one visit to the next a step varies {spreads} where the device does. {timed}"


def run_sections(runs: RunReport) -> tuple[Section, ...]:
    """The forms that predict each component in a run, and the errors of networks left out through the whole chain."""
    heaviest = runs.forms.groupby("component")["weight"].transform("max")
    shown = runs.forms[(runs.forms["weight"] >= SHOWN_WEIGHT) | (runs.forms["weight"] == heaviest)]
    sections = [Section("Components in asynchronous runs: forms by Akaike weight", shown.reset_index(drop=True))]
    if not runs.tells_exchange:
        sections.append(Section("", text=UNTOLD))
    if len(runs.left_out):
        sections.append(Section(f"Runs of each of {runs.n_networks} networks, predicted from the others", runs.left_out))
    return tuple(sections)


def accuracy_table(model: Model) -> pd.DataFrame:
    """Left-out errors of each method, fractions, beside how far halves of the measured rounds differ."""
    table = errors_named(model.score.accuracy).rename(columns=HALVES)
    return table.assign(method=[f"{name}: {METHODS.get(name, '')}" for name in table["method"]])


def kernel_table(model: Model) -> pd.DataFrame:
    """One row a kernel: formula, rows, adjusted R², left-out error of the explained method, difference of halves of its rounds."""
    scores = model.score.kernels
    left_out = scores[scores["method"] == EXPLAINED].set_index("kernel")[["mape", "noise_floor"]]
    rows = [{"kernel": kernel, **figures(fits[EXPLAINED].estimator)} for kernel, fits in model.gradient.kernels.items()]
    return pd.DataFrame(rows).join(left_out.rename(columns=HALVES), on="kernel")


def component_table(model: Model) -> pd.DataFrame:
    """One row a fitted component: formula, quality, left-out errors of the chosen terms and of the paper's."""
    rows = [
        {
            "component": name,
            **figures(item.selected.estimator),
            "mape": mape(item.selected_errors),
            "paper_mape": mape(item.paper_errors),
            "halves_differ": item.noise_floor,
        }
        for name, item in model.components.items()
    ]
    return pd.DataFrame(rows)


def figures(estimator: Any) -> dict[str, Any]:
    """Formula, rows and adjusted R² of a fit."""
    report = estimator.report_
    return {"formula": report.formula, "n_rows": report.n_samples, "r2_adj": report.r2_adj}


def mape(errors: LeftOutError | None) -> float:
    """Mean relative error on left-out groups; NaN where there were too few."""
    return float("nan") if errors is None else errors.errors.mape


def absent_text(model: Model) -> str:
    """Which components have no measurements."""
    if not model.absent:
        return "Every component was measured."
    return f"Not measured, taken from the machine's specification when predicting: {', '.join(model.absent)}."


def report_sections(result: ModelReport, *, on_page: bool = False) -> tuple[Section, ...]:
    """Overview, errors of whole steps, every part, and what was not measured; on a page kernels and components are headed."""
    if result.table is not None:
        return table_sections(result)
    sections = [Section("", text="\n".join(summary_lines(result)))] if len(result.parts) > 1 else []
    sections.append(Section("Parts of the model", overview(result), secondary=LESS_OF_PARTS))
    if len(result.accuracy):
        sections.append(Section(STEPS_LEFT_OUT, errors_named(result.accuracy.rename(columns=HALVES)), secondary=LESS_OF_ERRORS))
    if told := between_text(result.launches, result.gaps):
        sections.append(Section("", text=told))
    sections += run_sections(result.runs) if result.runs else ()
    for kind, parts in groupby(result.parts, key=lambda part: part.kind):
        if on_page:
            sections.append(Section(f"Terms and tests of each {kind}"))
        sections += [section for part in parts for section in part_sections(part)]
    if result.absent:
        sections.append(
            Section("Not measured" if on_page else "", text=f"Not measured, so not fitted: {', '.join(result.absent)}.")
        )
    sections.append(words_section("left out", "mape", "halves differ", "adjusted R²", "AIC", "component"))
    return tuple(sections)


def report_page(result: ModelReport) -> tuple[Section | Picture, ...]:
    """The pictures and tables of a table's model; of a campaign's the sections."""
    return report_sections(result, on_page=True) if result.table is None else table_page(result)


def summary_lines(result: ModelReport) -> list[str]:
    """What to know of a model before its tables: which parts err most, which have warnings, what was not measured."""
    table = parts_frame(result.parts)
    kinds = ", ".join(f"{n} {kind}s" for kind, n in table["kind"].value_counts(sort=False).items())
    worst = table.assign(error=table["predictor_mape"].fillna(table["mape"])).nlargest(MOST_TOLD, "error")
    errors = ", ".join(f"{part} {percent_text(error)}" for part, error in zip(worst["part"], worst["error"], strict=True))
    warned = [part.name for part in result.parts if part.warnings]
    of_what = "of what predicts" if len(result.accuracy) or not result.runs else "of the terms that explain"
    lines = [f"Parts: {kinds}.", f"Largest errors {of_what}, on networks and settings left out: {errors}."]
    if result.runs:
        lines.append("Runs are predicted by the forms in the table of asynchronous runs.")
    if warned:
        lines.append(f"Warnings on {len(warned)} parts: {listed(warned, MOST_TOLD)}.")
    if result.absent:
        lines.append(f"Not measured, so not fitted: {', '.join(result.absent)}.")
    return [*lines, f"Below: all parts in one table, then each with terms, tests and warnings ({NAMED_PART})."]


def overview(result: ModelReport) -> pd.DataFrame:
    """One row a part."""
    return result.to_frame().rename(columns={"n": "n_rows", "n_warnings": "warnings", **HALVES}).dropna(axis="columns", how="all")


def part_sections(part: PartReport) -> tuple[Section, ...]:
    """The fit as text, the path of the selection, left-out errors, warnings."""
    sections = [*fit_sections(f"{part.name} ({part.kind})", part.fit, level=3)]
    if len(part.path):
        sections.append(Section("Path of the selection", part.path, level=4))
    if len(part.left_out):
        errors = errors_named(part.left_out).assign(halves_differ=part.noise_floor)
        sections.append(Section("Left-out errors", errors, secondary=LESS_OF_ERRORS, level=4))
    if part.warnings:
        sections.append(Section("Warnings", text="\n".join(f"- {warning}" for warning in part.warnings), level=4))
    return tuple(sections)


def summary_sections(result: StatsmodelsSummaries) -> tuple[Section, ...]:
    """The text of every part, as statsmodels prints it."""
    absent = "No summary: nothing is left to test, or an earlier release wrote the model (train again)."
    return tuple(Section(name, text=text or absent) for name, text in result.summaries.items())


def report_figure(result: ModelReport) -> Figure:
    """Left-out error of each part as a bar, the difference of halves as a mark; of a table measured against predicted."""
    if result.table is not None:
        return against_left_out(result.table)
    table = result.to_frame()
    places = np.arange(len(table))
    with single_axes(6.8, 1.2 + 0.26 * len(table)) as (figure, axes):
        axes.barh(places, 100 * table["mape"], color=PALETTE[0], height=0.6, label="terms chosen by AIC")
        axes.plot(100 * table["predictor_mape"], places, "o", color=PALETTE[3], label="with the learnt residual")
        halves = 100 * table["noise_floor"]
        axes.plot(halves, places, "|", color=PALETTE[7], markersize=11, markeredgewidth=1.6, label="halves of the rounds differ")
        axes.set_yticks(places, labels=table["part"])
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.set(xlabel="MAPE on left-out CNNs (%)", title="How well each part predicts what it was not fitted on")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.4)
    return figure
