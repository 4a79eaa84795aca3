"""How a model's report is shown: an overview, then each part in full; left-out errors beside the noise floor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.report.figures.figures import PALETTE, new_figure, style
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.training.model_report import ModelReport, StatsmodelsSummaries
    from mlperf.training.part_report import PartReport


def report_sections(result: ModelReport) -> tuple[Section, ...]:
    """Overview, errors of whole steps, every part, and what was not measured."""
    sections = [Section("Parts of the model", overview(result))]
    if len(result.accuracy):
        sections.append(Section("Training steps of CNNs left out of the fit", errors_named(result.accuracy)))
    sections += [section for part in result.parts for section in part_sections(part)]
    if result.absent:
        sections.append(Section("", text=f"Not measured, so not fitted: {', '.join(result.absent)}."))
    return tuple(sections)


def overview(result: ModelReport) -> pd.DataFrame:
    """One row a part."""
    return result.to_frame().rename(columns={"n": "n_rows", "n_warnings": "warnings"}).dropna(axis="columns", how="all")


def errors_named(table: pd.DataFrame) -> pd.DataFrame:
    """Error columns under names that say what they are."""
    named = {"median": "median_error", "q3": "third_quartile_error", "max": "max_error", "bias": "mean_error"}
    return table.rename(columns={**named, "nonpositive": "nonpositive_share"})


def part_sections(part: PartReport) -> tuple[Section, ...]:
    """The fit as text, the path of the selection, left-out errors, warnings."""
    sections = [Section(f"{part.name} ({part.kind})", text=str(part.fit))]
    if len(part.path):
        sections.append(Section("Path of the selection", part.path))
    if len(part.left_out):
        sections.append(Section("Left-out errors", errors_named(part.left_out).assign(noise_floor=part.noise_floor)))
    if part.warnings:
        sections.append(Section("Warnings", text="\n".join(f"- {warning}" for warning in part.warnings)))
    return tuple(sections)


def summary_sections(result: StatsmodelsSummaries) -> tuple[Section, ...]:
    """The text of every part, as statsmodels prints it."""
    absent = "No summary: nothing is left to test, or an earlier release wrote the model (train again)."
    return tuple(Section(name, text=text or absent) for name, text in result.summaries.items())


def report_figure(result: ModelReport) -> Figure:
    """Left-out error of each part as a bar, its noise floor as a mark."""
    table = result.to_frame()
    places = np.arange(len(table))
    with style():
        figure = new_figure(6.8, 1.2 + 0.26 * len(table))
        axes = figure.add_subplot()
        axes.barh(places, 100 * table["mape"], color=PALETTE[0], height=0.6, label="terms chosen by AIC")
        axes.plot(100 * table["predictor_mape"], places, "o", color=PALETTE[3], label="with the learnt residual")
        axes.plot(
            100 * table["noise_floor"], places, "|", color=PALETTE[7], markersize=11, markeredgewidth=1.6, label="noise floor"
        )
        axes.set_yticks(places, labels=table["part"])
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.set(xlabel="MAPE on left-out CNNs (%)", title="How well each part predicts what it was not fitted on")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.4)
    return figure
