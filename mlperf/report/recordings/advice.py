"""How advice on a recorded run is shown, and what other numbers of loader workers would bring."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlperf.planning.advice.findings import NAMED
from mlperf.report.figures.figures import GREY, PALETTE, apart, single_axes
from mlperf.report.text.answer import Answer, count_text, plain_time, time_range_text
from mlperf.report.text.numbers import number_text, percent_text
from mlperf.report.text.views import Section
from mlperf.report.traces.ranks import sentences

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.planning.advice.advise import Advice
    from mlperf.planning.advice.workers import WorkerPlan


def advice_answer(found: Advice) -> Answer:
    """The first hint with what it brings."""
    asked = f"{found.source}: {count_text(found.n_steps, 'step')} of {plain_time(found.step_s)}"
    named = found.hints[found.hints["verdict"] == NAMED]
    if named.empty:
        return Answer(
            asked, "nothing found that holds the steps back" if found.hints.empty else "nothing that can be told for sure"
        )
    first = named.iloc[0]
    less = time_range_text(first["saved_s"], first["saved_lower_s"], first["saved_upper_s"], 0.95, "a step")
    return Answer(asked, f"{first['cause']} ({first['subject']}): {less} less, {percent_text(first['saved_share'])} of it")


def advice_sections(found: Advice) -> tuple[Section, ...]:
    """A table of what changes bring, each hint in sentences, and what was looked at."""
    table = ["cause", "subject", "verdict", "saved_s", "saved_lower_s", "saved_upper_s", "saved_share", "naive_s"]
    sections = []
    if len(found.hints):
        sections.append(Section("What changes would bring, a step", found.hints[table], secondary=("naive_s",)))
        sections.append(Section("", text="\n".join(_sentences(found))))
    return (*sections, Section("What was looked at", found.looked_at, is_detail=True))


def _sentences(found: Advice) -> list[str]:
    """Each hint: what was seen, what to do, what it follows from or what is missing."""
    told = []
    for number, row in enumerate(found.hints.to_dict("records"), 1):
        rest = f" Inconclusive: {row['why']}." if row["why"] else f" To do: {row['to_do']}."
        follows = f" This follows from the {row['follows_from']} above." if row["follows_from"] else ""
        told.append(f"{number}. {row['cause']}: {row['seen']}.{rest}{follows}")
    return told


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
    per_step = float(plan["samples_per_s"].iloc[0] * plan["step_s"].iloc[0]) if with_samples else 1.0
    workers = np.unique(plan["n_workers"].to_numpy(float))
    with single_axes(5.6, 3.6) as (figure, axes):
        axes.axhline(per_step / found.loading.compute_s, color=GREY, linestyle="--", label="input always ready")
        for number, cores in enumerate(plan["n_cores"].unique().tolist()):
            rows = plan[plan["n_cores"] == cores]
            value, low, high = (per_step / rows[name].to_numpy(float) for name in ("step_s", "step_upper_s", "step_lower_s"))
            at, ends, color = rows["n_workers"].to_numpy(float), [value - low, high - value], PALETTE[number % len(PALETTE)]
            # Where training, not the input, sets the pace, curves lie on one another: an earlier one shows behind a later one.
            line, size = "--" if number else "-", max(10 - 3 * number, 4)
            drawn = axes.errorbar(at, value, yerr=ends, color=color, marker="o", markersize=size, linestyle=line, capsize=3)
            drawn.set_label(count_text(cores, "core"))
        what = "samples a second" if with_samples else "steps a second"
        axes.set(xlabel="loader workers", ylabel=what, title="throughput", xticks=apart(workers, workers))
        axes.set_ylim(bottom=0)
        axes.legend()
    return figure
