"""How the judgement by the asynchronous trainer is shown: gates, then the tables they rest on; histograms as a figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.studies.trainer.ranking import Ranking
    from mlperf.studies.trainer.result import TrainerAccuracy

LEAST_SHOWN = 1e-4
AXES = {"minibatch_size": "samples of one update", "staleness": "staleness, updates"}
EMULATED = "every wait emulated: equations, locks, barrier and threads are real, device, memory and network are slept"


def trainer_sections(result: TrainerAccuracy) -> tuple[Section, ...]:
    """Gates, what was run, and the summaries of every part that was measured."""
    parts = (
        ("Gates", result.gates),
        ("What was run", result.modes),
        (f"{result.trained_on}, fitted on few nodes, tested on more; known costs on all ({EMULATED})", result.split_summary),
        ("Lock waits and barrier, known costs", result.wait_summary),
        (f"Other networks from the runs of {result.trained_on}", result.headline_summary),
        *((ranking_title(each), each.table) for each in result.rankings),
        ("Components: the paper's regressors, terms chosen by AIC, laws", result.components),
        ("Mini-batch size and staleness against their distributions", result.distribution_summary),
        ("Known costs by mode", result.known),
        ("Time beside the least crowded setting, modes with real work", result.stretches),
        (f"Gradient time of other networks by one coefficient from {result.trained_on}", result.transfer),
    )
    shown = tuple(Section(title, frame) for title, frame in parts if len(frame))
    met = int(result.gates["met"].sum())
    return (*shown, Section("", text=f"{met} of {len(result.gates)} gates met."))


def distribution_figure(result: TrainerAccuracy) -> Figure:
    """Observed histograms of some settings as bars, predicted distributions as lines."""
    from mlperf.report.figures.figures import GREY, PALETTE, new_figure, style

    n_rows = max(1, (len(result.examples) + 1) // 2)
    with style():
        figure = new_figure(8.0, 2.7 * n_rows)
        for number, each in enumerate(result.examples):
            axes = figure.add_subplot(n_rows, 2, number + 1)
            observed = each.observed
            width = float(np.diff(observed.values).min()) if observed.values.size > 1 else 1.0
            axes.bar(observed.values, observed.probabilities, width=0.9 * width, color=GREY, alpha=0.5, label="observed")
            for (form, predicted), colour in zip(each.predicted.items(), PALETTE, strict=False):
                shown = predicted.probabilities > LEAST_SHOWN
                axes.plot(predicted.values[shown], predicted.probabilities[shown], ".-", color=colour, linewidth=1.0, label=form)
            axes.set_xlabel(AXES[each.quantity])
            axes.set_title(setting_title(each.setting), fontsize="small")
            if number == 0:
                axes.legend(fontsize="x-small")
    return figure


def ranking_title(ranking: Ranking) -> str:
    """A ranking in a few words."""
    return f"{ranking.cnn}, {ranking.machine}, {ranking.form}: window {ranking.lower:.0f} to {ranking.upper:.0f} samples"


def setting_title(setting: Mapping[str, object]) -> str:
    """A setting in a few words."""
    return f"{setting['cnn']}: {setting['n_nodes']} nodes x {setting['n_gpus_per_node']} GPUs, sub-batch {setting['subbatch_size']}"
