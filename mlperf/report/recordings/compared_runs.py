"""How two programs that were compared are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlperf.report.figures.figures import GREY, PALETTE, legend_beside, single_axes, time_unit
from mlperf.report.text.answer import Answer, count_text, plain_time
from mlperf.report.text.numbers import number_text, percent_text
from mlperf.report.text.views import Section
from mlperf.report.traces.ranks import sentences

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.traces.runs.compared import ComparedRuns

SPREAD = ("fastest", "slowest", "std", "fastest_s", "slowest_s", "std_s")
RUN_COLUMNS = ("run", "program", "block", "use", "status", "value", "exit_code")
DECIDED = {"faster": "B is faster", "slower": "B is slower", "better": "B is better", "worse": "B is worse"}


def compared_answer(found: ComparedRuns) -> Answer:
    """The verdict with ratio and interval."""
    asked = f"A {found.a}, B {found.b}"
    if found.ratio != found.ratio:
        return Answer(asked, "inconclusive: too few runs")
    interval = ratio_text(found)
    if found.verdict in DECIDED:
        return Answer(asked, f"{DECIDED[found.verdict]}: {interval}")
    if found.verdict == "no difference":
        return Answer(asked, f"no difference beyond {percent_text(found.margin)}: {interval}")
    return Answer(asked, f"inconclusive: {interval}{_more(found)}")


def ratio_text(found: ComparedRuns) -> str:
    """The ratio with its interval, and means (or medians, of which it then is) on both sides."""
    values = found.summary[f"{found.statistic}_s" if found.is_time else found.statistic].tolist()
    sides = [plain_time(each) if found.is_time else number_text(each) for each in values]
    ratio, low, high = (number_text(each) for each in (found.ratio, found.ratio_low, found.ratio_high))
    return f"B / A {ratio} ({100 * found.level:g} %: {low} to {high}), {sides[0]} and {sides[1]}"


def _more(found: ComparedRuns) -> str:
    """What would decide."""
    if found.of != "commands":
        return "; longer runs or, better, commands run in turns would decide"
    if found.more_blocks is None:
        return ""
    most = found.more_blocks_at_most
    surely = f", {most:,} whatever it is" if most is not None else ""
    return f"; about {count_text(found.more_blocks, 'more block')} would decide if the ratio stays so{surely}"


def compared_sections(found: ComparedRuns) -> tuple[Section, ...]:
    """Both programs, notes, every run, and what failing runs said."""
    runs = found.runs[[name for name in RUN_COLUMNS if name in found.runs]]
    runs = runs.rename(columns={"value": "value_s"}) if found.is_time else runs
    return (
        Section("Programs", found.summary, secondary=SPREAD),
        Section("", text="\n".join(sentences(found.notes))),
        *_failures(found),
        Section("Runs in their order", runs, is_detail=True),
    )


def _failures(found: ComparedRuns) -> tuple[Section, ...]:
    """The last words of runs that failed."""
    if "said" not in found.runs:
        return ()
    failed = found.runs[found.runs["status"] != "done"]
    told = [
        f"run {row['run']} of {row['program']}, {row['status']}: {row['said'] or '(nothing)'}" for row in failed.to_dict("records")
    ]
    return (Section("What failing runs said last", text="\n".join(told)),) if told else ()


def compared_figure(found: ComparedRuns) -> Figure:
    """Every run in its order, those without a say hollow."""
    with single_axes() as (figure, axes):
        unit, size = time_unit(found.runs["value"]) if found.is_time else ("", 1.0)
        runs = found.runs.assign(value=found.runs["value"] / size)
        has_say = np.ones(len(runs), bool) if "use" not in runs else (runs["use"] == "compared").to_numpy()
        for number, name in enumerate("AB"):
            own = (runs["program"] == name).to_numpy()
            colour = PALETTE[number]
            axes.plot(runs["run"][own & has_say], runs["value"][own & has_say], "o", color=colour, label=name)
            axes.plot(runs["run"][own & ~has_say], runs["value"][own & ~has_say], "o", color=colour, fillstyle="none")
        if not has_say.all():
            axes.plot([], [], "o", color=GREY, fillstyle="none", label="without a say (warm-up, failed)")
        axes.set(xlabel="run", ylabel=f"time ({unit})" if found.is_time else "value", title="runs in their order")
        legend_beside(axes)
    return figure
