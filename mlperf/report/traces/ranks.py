"""How training ranks, their steps, differences and tables are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlperf.report.figures.figures import PALETTE, apart, legend_beside, single_axes, time_unit
from mlperf.report.text.answer import Answer, count_text, plain_time, time_range_text
from mlperf.report.text.numbers import percent_text
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.traces.ranks.profiled.analysis import TrainingRanks
    from mlperf.traces.timeline.decomposition import StepParts
    from mlperf.traces.timeline.difference import TraceDifference
    from mlperf.traces.to_table import TraceTable

N_NAMES = 20
PARTS = ("gpu_kernel_s", "gpu_exposed_collective_s", "gpu_exposed_copy_s", "cpu_s")
LABELS = ("computation", "collective operations alone", "copies alone", "device idle")
ON_HOST = "processor"
"""What the rest is called where no device was recorded: none that could idle is known of."""
PHASES = {"pre_s": "loading", "forward_s": "forward", "backward_s": "backward", "update_s": "update", "other_s": "other"}


def ranks_answer(found: TrainingRanks) -> Answer:
    """Who comes last, and what its arriving in time would bring."""
    asked = (
        f"{found.source}: {count_text(found.n_ranks, 'rank')}, {count_text(found.n_steps, 'step')} of {plain_time(found.step_s)}"
    )
    if found.straggler < 0:
        return Answer(asked, "nobody can be told to come late" if found.n_ranks > 1 else "one rank alone tells no waiting")
    row = found.ranks[found.ranks["rank"] == found.straggler].iloc[0]
    late = f"rank {found.straggler} comes last, {plain_time(float(row['late_s']))} a step behind the first ({found.pattern})"
    best = found.what_ifs[found.what_ifs["assumption"] == f"on-time={found.straggler}"]
    if best.empty:
        return Answer(asked, late)
    saved, lower, upper = (float(best.iloc[0][name]) for name in ("saved_s", "saved_lower_s", "saved_upper_s"))
    less = time_range_text(saved, lower, upper, 0.95, "a step")
    return Answer(asked, f"{late}; were it as fast as the median rank: {less} less")


def ranks_sections(found: TrainingRanks) -> tuple[Section, ...]:
    """What changes would bring, then who came when, operation by operation."""
    sections = []
    if len(found.what_ifs):
        sections.append(Section("What changes would bring", found.what_ifs, secondary=(("saved_lower_s", "saved_upper_s"),)))
    sections.append(Section("Ranks", found.ranks, secondary=("n_kernels",)))
    if len(found.operations):
        sections.append(Section("Collective operations", found.operations, secondary=("why", "comm", "waited_s"), is_detail=True))
    sections.append(Section("Kernels that take most", found.kernels, is_detail=True))
    return (*sections, Section("", text="\n".join(sentences(found.notes))))


def sentences(notes: tuple[str, ...]) -> list[str]:
    """Notes as sentences."""
    return [f"{note[:1].upper()}{note[1:]}." for note in notes]


def ranks_figure(found: TrainingRanks) -> Figure:
    """Time in collective operations and lateness by rank."""
    with single_axes() as (figure, axes):
        at = np.arange(found.n_ranks, dtype=float)
        unit, size_s = time_unit(found.ranks["collective_s"], found.ranks["late_s"])
        axes.bar(at - 0.2, found.ranks["collective_s"] / size_s, 0.4, color=PALETTE[0], label="in collective operations")
        axes.bar(at + 0.2, found.ranks["late_s"] / size_s, 0.4, color=PALETTE[1], label="behind the first rank")
        shown = apart(at, at)
        axes.set_xticks(shown, [str(found.ranks["rank"].iloc[int(place)]) for place in shown])
        axes.set(xlabel="rank", ylabel=f"time in a step ({unit})", title="who waits, and for whom")
        legend_beside(axes)
    return figure


def steps_answer(found: StepParts) -> Answer:
    """Where the time of a step goes, on the slowest rank."""
    row = found.summary.sort_values("step_s", ascending=False, kind="stable").iloc[0]
    asked = f"{found.source}: {count_text(len(found.steps), 'step')}"
    shares = [
        f"{percent_text(float(row[name] / row['step_s']))} {label}"
        for name, label in zip(PARTS, _labels(found), strict=True)
        if row[name] > 0
    ]
    where = f"rank {int(row['rank'])}: " if found.summary["rank"].nunique() > 1 else ""
    step = f"{where}{plain_time(float(row['step_s']))} a step"
    if not _is_of_host(found):
        return Answer(asked, f"{step}: {', '.join(shares)}")
    doing = [f"{percent_text(float(row[name] / row['step_s']))} {label}" for name, label in PHASES.items() if row[name] > 0]
    parts = f"; {', '.join(shares)}" if len(shares) > 1 else ""
    return Answer(asked, f"{step}, no device recorded: {', '.join(doing)}{parts}")


def _is_of_host(found: StepParts) -> bool:
    """Whether nothing of any device was recorded."""
    return bool((found.summary["device"] < 0).all())


def _labels(found: StepParts) -> tuple[str, ...]:
    """What the parts of a step are called."""
    return (*LABELS[:-1], ON_HOST) if _is_of_host(found) else LABELS


def steps_sections(found: StepParts) -> tuple[Section, ...]:
    """Means by rank, then every step."""
    phases = ("pre_s", "h2d_s", "forward_s", "backward_s", "update_s", "d2h_s", "other_s")
    parts = [name for name in found.summary.columns if name not in phases]
    return (
        Section("Where the time of a step goes", found.summary[parts], secondary=("gpu_busy_s", "gpu_collective_s", "gpu_copy_s")),
        Section("What the program was doing", found.summary[["rank", "device", "step_s", *phases]]),
        Section("Steps", found.steps, is_detail=True),
        Section("", text="\n".join(sentences(found.notes))),
    )


def steps_figure(found: StepParts) -> Figure:
    """Every step as a stack of its parts."""
    with single_axes() as (figure, axes):
        at, below = np.arange(len(found.steps)), np.zeros(len(found.steps))
        unit, size_s = time_unit(found.steps[[*PARTS]].sum(axis=1))
        for name, label, colour in zip(PARTS, _labels(found), PALETTE, strict=False):
            values = found.steps[name].to_numpy() / size_s
            axes.bar(at, values, bottom=below, color=colour, label=label)
            below += values
        axes.set(xlabel="step", ylabel=f"time ({unit})", title="where the time of each step goes")
        axes.locator_params(axis="x", integer=True)
        legend_beside(axes)
    return figure


def difference_answer(found: TraceDifference) -> Answer:
    """The most different kind of event."""
    asked = f"{found.sources[0]} against {found.sources[1]}"
    changed = found.groups[found.groups["difference"] != "as before"]
    if changed.empty:
        return Answer(asked, "no kind of event differs")
    told = [f"{row.what}: {row.difference}" for row in changed.head(3).itertuples()]
    return Answer(asked, "; ".join(told))


def difference_sections(found: TraceDifference) -> tuple[Section, ...]:
    """Kinds, then names on the device."""
    return (
        Section("Kinds of events, the most different first", found.groups, secondary=("mean_ratio", "time_ratio", "count_ratio")),
        Section(
            "On the host, time of functions themselves, the largest change first"
            if found.names["what"].isin(["functions and marks", "calls of the runtime"]).any()
            else "On the device, the largest change of time first",
            found.names.head(N_NAMES),
            secondary=("mean_ratio", "time_ratio", "count_ratio"),
        ),
        Section("", text="\n".join(sentences(found.notes))),
    )


def table_answer(found: TraceTable) -> Answer:
    """How many runs, and that nothing is lost."""
    asked = f"{count_text(len(found.table), 'run')}, {count_text(len(found.iterations), 'iteration')}"
    closes = (
        "sums of durations: parts may overlap"
        if found.closure_ns < 0
        else f"parts add up to each step within {found.closure_ns} ns"
    )
    return Answer(asked, f"{closes}; {found.file or 'not written'}")


def table_sections(found: TraceTable) -> tuple[Section, ...]:
    """The table."""
    return (Section("Runs", found.table), Section("", text="\n".join(sentences(found.notes))))
