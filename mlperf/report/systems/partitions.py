"""How the plan of a partition is shown: layers, period, runners-up, what each constant weighs, other hardware."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.report.figures.figures import PALETTE, apart, single_axes
from mlperf.report.figures.plots import component_bars
from mlperf.report.text.answer import Answer, TimesFrom, count_text, time_range_text
from mlperf.report.text.numbers import number_text, percent_text
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.planning.partition.plan import PartitionPlan

SECONDARY = (
    ("forward_s", "backward_s", "update_s"),
    ("activations_s", "errors_s", "copies_s"),
    ("activation_bytes", "error_bytes"),
    "memory_bytes",
    "share",
)


def plan_sections(plan: PartitionPlan) -> tuple[Section, ...]:
    """Everything of a plan, the layers first."""
    title = f"{plan.network} on {count_text(plan.machines, 'machine')} of {plan.machine}: stripes, copies, threads of every layer"
    weights = pd.DataFrame({"time_of": list(plan.elasticities), "share": list(plan.elasticities.values())})
    weights["epoch_a_tenth_lower_s"] = list(plan.tenths_lower_s.values())
    sections = [
        Section(title, plan.layers, secondary=SECONDARY),
        Section(f"One period of a replica, {count_text(int(plan.minibatch_size), 'sample')}", plan.period),
        Section("What an epoch is made of: share of each constant, and the epoch with it a tenth lower, the plan kept", weights),
        Section("Best shapes", with_gap(plan.others)),
        Section("Best with the same stripes in every layer", plan.uniform),
    ]
    if len(plan.scaling):
        sections.append(Section("Scaling", with_gap(plan.scaling)))
    if len(plan.what_ifs):
        sections.append(Section("Other hardware: plan kept, and planned anew", with_gap(plan.what_ifs)))
    return (*sections, Section("", text="\n".join(notes(plan))))


def with_gap(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with the fraction by which another plan might still be faster; without that column where every row is exact."""
    return rows if (rows["gap"] > 0.0).any() else rows.drop(columns="gap")


def notes(plan: PartitionPlan) -> list[str]:
    """Speed-ups, certificate, and what the numbers rest on."""
    exact = "no other plan is faster" if plan.gap == 0 else f"another plan may be up to {percent_text(plan.gap)} faster"
    lines = [
        f"{number_text(plan.thread_s / plan.epoch_s, 3)} x as fast as one thread, "
        f"{number_text(plan.single_s / plan.epoch_s, 3)} x as one machine "
        f"({percent_text(plan.single_s / plan.epoch_s / plan.machines)} efficiency).",
        f"Under these constants {exact}: {count_text(plan.programmes, 'shortest path')}, "
        f"{count_text(plan.excluded, 'number of workers', 'numbers of workers')} excluded by bounds.",
    ]
    if any((rows["gap"] > 0.0).any() for rows in (plan.others, plan.scaling, plan.what_ifs)):
        lines.append("gap: by how much another plan of that row may be faster; rows that differ by less may be in another order.")
    unsure = plan.uncertainty
    if unsure.n_draws:
        lines.append(
            f"Of {unsure.n_draws} draws of the constants, {percent_text(unsure.choice_stable)} choose the same workers, replicas "
            "and servers."
        )
    if plan.n_free:
        lines.append(f"{count_text(plan.n_free, 'machine')} would not make it faster and is free.")
    if plan.source != "measured":
        lines.append(f"Flag {plan.source}: the constants are not measured between machines: {plan.source}.")
    return lines


def plan_answer(plan: PartitionPlan) -> Answer:
    """Shape, epoch and bottleneck."""
    exchange = "synchronous" if plan.synchronous else "asynchronous"
    asked = f"{plan.network} on {count_text(plan.machines, 'machine')} of {plan.machine}, {exchange}"
    shape = f"{count_text(plan.n_replicas, 'replica')} of {count_text(plan.n_workers, 'worker')}"
    shape += f", {count_text(plan.n_servers, 'server')}"
    size = f"mini-batch {plan.n_replicas} x {number_text(plan.minibatch_size, 3)}, staleness {number_text(plan.mean_staleness, 3)}"
    held = f"{plan.bottleneck} is {percent_text(plan.elasticities[plan.bottleneck])} of it"
    budget = "" if plan.epochs < 0 else f"; the budget completes {count_text(plan.epochs, 'epoch')}"
    times = TimesFrom(assumed=(plan.machine,)) if plan.source == "assumed" else TimesFrom(model=f"{plan.machine} ({plan.source})")
    unsure = plan.uncertainty
    epoch = time_range_text(plan.epoch_s, unsure.lower_s, unsure.upper_s, 0.95, "an epoch")
    found = f"best is {shape}, {epoch}, {size}; {held}{budget}"
    return Answer(asked, found, times, inside=plan.in_domain)


def plan_figure(plan: PartitionPlan) -> Figure:
    """The scaling curve where there is one, else a bar a layer."""
    title = f"{plan.network}, {count_text(plan.machines, 'machine')}"
    if len(plan.scaling) < 2:
        names = ("forward_s", "backward_s", "update_s", "activations_s", "errors_s", "copies_s")
        bars = {
            str(row["layer"]): {name.removesuffix("_s"): float(row[name]) for name in names} for _, row in plan.layers.iterrows()
        }
        return component_bars(bars, title=f"{title}: time of a sample by layer")
    machines, speedup = (plan.scaling[name].to_numpy(float) for name in ("machines", "speedup"))
    with single_axes() as (figure, axes):
        axes.plot(machines, machines / machines.min() * np.nanmin(speedup), color="#666666", linewidth=0.9, label="linear")
        axes.plot(machines, speedup, color=PALETTE[0], marker="o", label="best plan")
        axes.set(xlabel="machines", ylabel="speed-up over one machine", title=f"{title}: scaling", xscale="log", yscale="log")
        marks = apart(machines, np.log(machines))
        axes.set_xticks(marks, [f"{count:g}" for count in marks])
        axes.set_xticks([], minor=True)
        axes.legend()
    return figure
