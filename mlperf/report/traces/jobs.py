"""How a training job's slowdown is shown: culprit, groups, steady or not, single operations, steps, the user's assumptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlperf.report.figures.figures import PALETTE, single_axes, time_unit
from mlperf.report.text.answer import Answer, count_text, time_range_text
from mlperf.report.text.numbers import number_text, percent_text
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.traces.ranks.jobs import TrainingJob

SECONDARY = (("saved_lower_s", "saved_upper_s"), "saved_with_gaps_s", "slowdown_alone")
N_GROUPS = 20


def job_answer(job: TrainingJob) -> Answer:
    """Who slows the job down, by how much, and what its removal brings."""
    asked = f"{job.name}, {count_text(job.n_steps, 'step')} of {time_range_text(job.measured_s, np.nan, np.nan, 0.95)}"
    slow = f"{number_text(job.slowdown, 4)} x as long as without stragglers"
    if job.slowdown_lower == job.slowdown_lower:
        slow += f" (95 %: {number_text(job.slowdown_lower, 4)} to {number_text(job.slowdown_upper, 4)})"
    row = job.culprit_row
    if row is None:
        return Answer(asked, f"a step is {slow}; no group of operations brings half of it")
    less, lower, upper = (float(row[name]) for name in ("saved_s", "saved_lower_s", "saved_upper_s"))
    saved = time_range_text(less, lower, upper, 0.95, "a step")
    steady = f"{job.pattern} (the latest in {percent_text(job.share_of_steps)} of the steps)"
    return Answer(
        asked, f"{job.culprit_family} {job.culprit} is the straggler, {steady}; a step is {slow}; without it {saved} less"
    )


def job_sections(job: TrainingJob) -> tuple[Section, ...]:
    """Everything of a job, what would bring most first."""
    sections = [
        Section("What each group costs (made typical, without gaps)", job.groups.head(N_GROUPS), secondary=SECONDARY),
        Section("Always the same, rotating, or a few bad steps", job.patterns),
    ]
    if len(job.assumptions):
        sections.append(Section("What the assumptions bring", job.assumptions, secondary=(("saved_lower_s", "saved_upper_s"),)))
    if len(job.operations):
        sections.append(Section("Single operations whose typical time saves most", job.operations, secondary=("most_saved_s",)))
    if len(job.dominoes):
        sections.append(Section(f"Domino path of step {job.domino_step}, the slowest: the first to push on top", job.dominoes))
    sections.append(Section("Steps", job.steps, is_detail=True))
    return (*sections, Section("", text="\n".join(job_notes(job))))


def job_notes(job: TrainingJob) -> list[str]:
    """Replay against measurement, worst workers, forecast, and what the reader met."""
    degrees = f"{job.data_parallel} x {job.pipeline} workers (dp_rank, stage), {count_text(job.n_operations, 'operation')}"
    worst = ", ".join(job.worst_workers)
    lines = [
        f"{degrees}: replayed with gaps a step differs from the recorded one by at most {percent_text(job.replay_error)}.",
        f"A step takes {number_text(job.measured_s, 4)} s, without gaps {number_text(job.no_gaps_s, 4)} s, with every operation "
        f"typical {number_text(job.ideal_s, 4)} s (mean of computations, median of transfers of each kind).",
        f"Worst workers (3 % of all): {worst}; typical, they remove {percent_text(job.worst_share_removed)} of the slowdown.",
    ]
    told, halves = job.forecast, job.halves
    if told.lower_s == told.lower_s:
        lines.append(
            f"A further step takes {time_range_text(told.mean_s, told.lower_s, told.upper_s, told.level)}, if nothing changes."
        )
    if halves.ks == halves.ks:
        changed = "as" if halves.holds else "NOT as"
        lines.append(
            f"The second half of the steps is {changed} the first: mean {percent_text(halves.mean_error)} off, "
            f"{percent_text(halves.coverage)} inside its interval, distance {halves.ks:.2f} (5 % point {halves.ks_point:.2f})."
        )
    return [*lines, *job.notes]


def job_figure(job: TrainingJob) -> Figure:
    """Step times: measured, without gaps, ideal."""
    with single_axes() as (figure, axes):
        at = np.arange(job.n_steps)
        unit, size_s = time_unit(job.steps["measured_s"])
        axes.plot(at, job.steps["measured_s"] / size_s, color=PALETTE[0], marker="o", markersize=8.0, label="measured")
        axes.plot(at, job.steps["no_gaps_s"] / size_s, color=PALETTE[1], marker="o", label="without gaps")
        axes.axhline(job.ideal_s / size_s, color="#666666", linewidth=0.9, label="every operation typical")
        axes.set(xlabel="step (in the order of the trace)", ylabel=f"step time ({unit})", ylim=(0.0, None))
        axes.set_title(f"{job.name}: step time")
        axes.legend()
    return figure
