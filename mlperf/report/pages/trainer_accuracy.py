"""How the judgement by the asynchronous trainer is shown: gates, then the tables they rest on; histograms as a figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from mlperf.core.errors import UsageError
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.studies.trainer.result import TrainerAccuracy

LEAST_SHOWN = 1e-4
AXES = {"minibatch_size": "mini-batch size (samples)", "staleness": "staleness (updates)"}
ONE_NETWORK = "Judge by runs of two networks or more, or leave out --plot."


def trainer_sections(result: TrainerAccuracy) -> tuple[Section, ...]:
    """Gates, what was run, scores of every protocol beside trivial answers, choices in windows, the equations alone."""
    parts = (
        ("Gates", result.gates),
        ("What was run", result.measured),
        ("Trained on some runs, asked about the others: mlperf train and predict beside trivial answers", result.scores),
        ("Choices inside windows of mini-batch sizes", result.windows),
        ("The equations alone: measured component times put into every form", result.equations),
        ("Mini-batch size and staleness of networks left out against their distributions", result.distributions),
    )
    shown = tuple(Section(title, frame) for title, frame in parts if len(frame))
    met = int(result.gates["met"].sum())
    missed = "".join(f"\nmissed: {name}" for name in result.missed)
    return (*shown, Section("", text=f"{met} of {len(result.gates)} gates met.{missed}"))


def trainer_figure(result: TrainerAccuracy) -> Figure:
    """Observed histograms of some settings as bars, distributions predicted without their network as lines."""
    from mlperf.report.figures.figures import GREY, PALETTE, new_figure, style

    if not result.examples:
        raise UsageError("there is nothing to draw: distributions are predicted of networks that were left out", hint=ONE_NETWORK)
    n_rows = (len(result.examples) + 1) // 2
    with style():
        figure = new_figure(8.0, 2.7 * n_rows)
        for number, each in enumerate(result.examples):
            axes = figure.add_subplot(n_rows, 2, number + 1)
            observed = each.observed
            width = float(np.diff(observed.values).min()) if observed.values.size > 1 else 1.0
            axes.bar(observed.values, observed.probabilities, width=0.9 * width, color=GREY, alpha=0.5, label="observed")
            seen = each.predicted.probabilities > LEAST_SHOWN
            values, heights = each.predicted.values[seen], each.predicted.probabilities[seen]
            axes.plot(values, heights, ".-", color=PALETTE[0], linewidth=1.0, label="predicted")
            axes.set(xlabel=AXES[each.quantity], ylabel="probability")
            axes.locator_params(axis="x", integer=True)
            axes.set_title(setting_title(each.setting), fontsize="small")
            if number == 0:
                axes.legend(fontsize="x-small")
    return figure


def setting_title(setting: Mapping[str, object]) -> str:
    """A setting in a few words."""
    return f"{setting['cnn']}: {setting['n_nodes']} nodes x {setting['n_gpus_per_node']} GPUs, sub-batch {setting['subbatch_size']}"
