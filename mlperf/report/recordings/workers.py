"""How a run with other numbers of loader workers is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlperf.report.figures.figures import GREY, PALETTE, single_axes
from mlperf.report.text.answer import Answer, count_text
from mlperf.report.text.numbers import number_text, percent_text
from mlperf.report.text.views import Section
from mlperf.report.traces.ranks import sentences

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.planning.advice.workers import WorkerPlan

RECORDED = {True: "recorded", False: ""}


def workers_answer(found: WorkerPlan) -> Answer:
    """How many workers keep up, and what the input costs as recorded."""
    loading = found.loading
    lost = max(0.0, 1 - loading.compute_s / found.step_s)
    made = f"{count_text(loading.n_workers, 'worker')} a rank" if loading.n_workers else "input by the training thread"
    asked = f"{found.source}: steps of {number_text(found.step_s * 1e3, 3)} ms with {made}"
    devices = f"{number_text(lost * found.n_devices, 2)} of {count_text(found.n_devices, 'device')}"
    cost = f"{percent_text(lost)} lost to the input, {devices}"
    return Answer(asked, f"{cost}; {count_text(found.workers_needed, 'worker')} would keep up, if the cores allow")


def workers_sections(found: WorkerPlan) -> tuple[Section, ...]:
    """The plan, and what it is made of."""
    plan = found.plan.assign(as_recorded=found.plan["as_recorded"].map(RECORDED)).rename(columns={"as_recorded": ""})
    loading = found.loading
    times = (loading.compute_s, loading.batch_s, loading.batch_cpu_s, loading.other_cpu_s)
    compute, batch, computing, rest = (f"{number_text(each * 1e3, 3)} ms" for each in times)
    parts = [
        f"A step without waiting: {compute}.",
        f"A worker's batch: {batch}, {computing} of it computing.",
        f"Processor time of the rest of a step: {rest}.",
    ]
    return (
        Section("Workers", plan, secondary=("steps_per_s",)),
        Section("", text="\n".join([*parts, *sentences(found.notes)])),
    )


def workers_figure(found: WorkerPlan) -> Figure:
    """Throughput over workers, a line for each number of cores, against steps that never wait."""
    plan = found.plan
    with_samples = "samples_per_s" in plan
    size = float(plan["samples_per_s"].iloc[0] * plan["step_s"].iloc[0]) if with_samples else 1.0
    with single_axes(5.6, 3.6) as (figure, axes):
        axes.axhline(size / found.loading.compute_s, color=GREY, linestyle="--", label="input always ready")
        for number, cores in enumerate(plan["n_cores"].unique().tolist()):
            rows = plan[plan["n_cores"] == cores]
            value, low, high = (size / rows[name].to_numpy(float) for name in ("step_s", "step_upper_s", "step_lower_s"))
            workers, ends, color = rows["n_workers"].to_numpy(float), [value - low, high - value], PALETTE[number % len(PALETTE)]
            axes.errorbar(workers, value, yerr=ends, color=color, marker="o", capsize=3, label=count_text(cores, "core"))
        what = "samples a second" if with_samples else "steps a second"
        axes.set(xlabel="loader workers", ylabel=what, title="throughput", xticks=plan["n_workers"].unique())
        axes.set_ylim(bottom=0)
        axes.legend()
    return figure
