"""How the difference of two recorded runs is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlperf.report.figures.figures import PALETTE, in_short, legend_beside, single_axes, time_unit
from mlperf.report.text.answer import Answer, plain_time
from mlperf.report.text.numbers import number_text
from mlperf.report.text.views import Section
from mlperf.report.traces.ranks import sentences

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.traces.whole_run.difference import RunDifference

N_FUNCTIONS = 20
N_SHOWN = 12
N_TOLD = 2


def difference_answer(found: RunDifference) -> Answer:
    """The ratio of speeds with its interval, and the swarms that changed most."""
    asked = f"{found.sources[1]} against {found.sources[0]}"
    changed = found.swarms[(found.swarms["difference"] != "as before")].head(N_TOLD)
    told = [f"{row['second'] or row['first']} {_change_text(row)}" for row in changed.to_dict("records")]
    speed = []
    if found.speed_ratio == found.speed_ratio:
        numbers = [number_text(value, 3) for value in (found.speed_ratio, found.speed_ratio_lower, found.speed_ratio_upper)]
        interval = f" (95 %: {numbers[1]} to {numbers[2]})" if found.speed_ratio_lower == found.speed_ratio_lower else ""
        speed = [f"{numbers[0]} times the steps a second{interval}, {found.verdict}"]
    return Answer(asked, "; ".join([*speed, *told]) or "no swarm changed")


def _change_text(row: dict[Any, Any]) -> str:
    """Appeared, vanished, or by how much more or less."""
    time = plain_time(abs(row["change_s"]))
    return f"{row['difference']} ({time})" if not row["first"] or not row["second"] else f"{time} {row['difference']}"


def difference_sections(found: RunDifference) -> tuple[Section, ...]:
    """Speeds, parts of the step, swarms, functions."""
    sections = []
    if len(found.steps):
        sections.append(Section("Steps", found.steps))
        sections.append(Section("Parts of a step", found.phases, secondary=(("change_lower_s", "change_upper_s"),)))
    return (
        *sections,
        Section("Swarms, the largest change first", found.swarms, secondary=("moved_in_s", "similarity")),
        Section("Functions, the largest change first", found.functions.head(N_FUNCTIONS), is_detail=True),
        Section("", text="\n".join(sentences(found.notes))),
    )


def difference_figure(found: RunDifference) -> Figure:
    """Times of the swarms that changed most, before and after."""
    frame = found.swarms.head(N_SHOWN)
    with single_axes(8.6, 1.4 + 0.4 * len(frame)) as (figure, axes):
        at = np.arange(len(frame))
        unit, size_s = time_unit(frame["time_first_s"], frame["time_second_s"])
        for place, (name, source) in enumerate(zip(("first", "second"), found.sources, strict=True)):
            seconds = frame[f"time_{name}_s"]
            axes.barh(at + 0.4 * place - 0.2, seconds / size_s, 0.4, color=PALETTE[place], label=f"{name}: {in_short(source, 24)}")
        names = [in_short(f"{row['second'] or row['first']}") for row in frame.to_dict("records")]
        axes.set_yticks(at, names)
        axes.invert_yaxis()
        axes.set(xlabel=f"time in a step ({unit})" if len(found.steps) else f"time ({unit})", title="swarms that changed most")
        legend_beside(axes)
    return figure
