"""How the steps of a recorded run are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlperf.report.figures.figures import PALETTE, legend_beside, single_axes, time_unit
from mlperf.report.text.answer import Answer, count_text, plain_time
from mlperf.report.text.numbers import percent_text
from mlperf.report.text.views import Section
from mlperf.report.traces.ranks import sentences

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.traces.whole_run.steps import RunSteps

N_PARTS = 4


def steps_answer(found: RunSteps) -> Answer:
    """How many steps of what length, and their largest parts."""
    n_steps = max(len(each) for each in found.windows)
    asked = f"{found.source}: {count_text(n_steps, 'step')} by {found.origin}"
    mean = found.summary.mean(numeric_only=True)
    parts = {name: float(mean[f"{name}_s"]) for name in (*found.phases, "other")}
    told = [f"{percent_text(spent / mean['step_s'])} {name}" for name, spent in _largest(parts) if spent > 0]
    without = " without the first" if int(found.summary["n_steps"].max()) < n_steps else ""
    return Answer(asked, f"{plain_time(float(mean['step_s']))} a step{without}: {', '.join(told)}")


def _largest(parts: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(parts.items(), key=lambda part: -part[1])[:N_PARTS]


def steps_sections(found: RunSteps) -> tuple[Section, ...]:
    """Means of the phases, of processor and devices, then every step."""
    phases = [f"{name}_s" for name in found.phases]
    parts = ["gpu_kernel_s", "gpu_comm_s", "gpu_exposed_comm_s", "cpu_s"]
    work = found.summary[["rank", *parts, "busy_s", "main_busy_s"]]
    return (
        Section("Where the time of a step goes", found.summary[["rank", "n_steps", "step_s", "step_std_s", *phases, "other_s"]]),
        Section("Processor and devices in a step", work, secondary=("gpu_exposed_comm_s", "main_busy_s")),
        Section("Steps", found.steps, is_detail=True),
        Section("", text="\n".join(sentences(found.notes))),
    )


def steps_figure(found: RunSteps) -> Figure:
    """Every step of the first rank as a stack of its phases."""
    with single_axes() as (figure, axes):
        own = found.steps[found.steps["rank"] == found.steps["rank"].iloc[0]]
        at, below = np.arange(len(own)), np.zeros(len(own))
        unit, size_s = time_unit(own["step_s"])
        for number, name in enumerate((*found.phases, "other")):
            values = own[f"{name}_s"].to_numpy() / size_s
            axes.bar(at, values, bottom=below, width=1.0, color=PALETTE[number % len(PALETTE)], label=name)
            below += values
        axes.set(xlabel="step", ylabel=f"time ({unit})", title="where the time of each step goes")
        axes.locator_params(axis="x", integer=True)
        legend_beside(axes)
    return figure
