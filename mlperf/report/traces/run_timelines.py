"""A run as a drawing: bars of every rank before and after, messages as lines, the domino path on top; and as a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mlperf.report.figures.figures import new_figure, save_figure, style
from mlperf.report.figures.html import Picture, write_page
from mlperf.report.text.answer import Answer
from mlperf.report.text.numbers import TIME_UNITS_S, best_unit
from mlperf.report.text.views import Section
from mlperf.report.traces.what_ifs import assumed_answer, assumed_sections, rests_on, validation_answer

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mlperf.traces.whatif.timeline import RunTimeline

COLOURS = {"wait": "#D55E00", "message": "#56B4E9", "collective": "#009E73"}
LABELS = {"wait": "wait", "message": "message", "collective": "collective operation"}
ARROW, DOMINO = "#777777", "#000000"
MOST_ARROWS = 400
BAR = 0.7


def timeline_figure(found: RunTimeline) -> Figure:
    """One panel a run, on one time axis."""
    runs = list(dict.fromkeys(found.bars["run"])) or ["before"]
    last_s = max(end_s(found, run) for run in runs)
    first_s = min(0.0, float(found.bars["begin_s"].min())) if len(found.bars) else 0.0
    unit = best_unit([last_s], TIME_UNITS_S, "s")
    scale = TIME_UNITS_S[unit]
    with style():
        height = max(2.4, 0.28 * found.n_ranks * len(runs) + 1.4 * len(runs))
        figure = new_figure(9.0, min(height, 14.0))
        panels = figure.subplots(len(runs), 1, sharex=True, squeeze=False)[:, 0]
        for axes, run in zip(panels, runs, strict=True):
            _draw(axes, found, run, scale)
            axes.set(ylabel="rank", ylim=(found.n_ranks - 0.4, -0.6), xlim=(first_s / scale, 1.01 * last_s / scale))
            axes.set_title(_title(found, run, len(runs)), loc="left")
        panels[-1].set_xlabel(f"time ({unit})")
        handles = _handles(found)
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def end_s(found: RunTimeline, run: str) -> float:
    """T of the run before or after, seconds."""
    return found.validation.replayed_s if run == "before" or found.assumed is None else found.assumed.time_s


def _title(found: RunTimeline, run: str, n_runs: int) -> str:
    """What a panel shows."""
    if n_runs == 1:
        return found.source
    return "as recorded" if run == "before" else "under the assumptions"


def _draw(axes: Axes, found: RunTimeline, run: str, scale: float) -> None:
    """Bars, lines and dominoes of one run."""
    bars = found.bars[found.bars["run"] == run]
    for what, colour in COLOURS.items():
        some = bars[bars["what"] == what]
        if len(some):
            width = (some["end_s"] - some["begin_s"]) / scale
            axes.barh(some["rank"], width, left=some["begin_s"] / scale, height=BAR, color=colour, linewidth=0)
    axes.axvline(end_s(found, run) / scale, color=DOMINO, linewidth=0.9, linestyle=":")
    arrows = found.arrows[found.arrows["run"] == run]
    if len(arrows) <= MOST_ARROWS:
        times = arrows[["from_s", "to_s"]].to_numpy().T / scale
        axes.plot(times, arrows[["from_rank", "to_rank"]].to_numpy().T, color=ARROW, linewidth=0.5, alpha=0.6)
    if run == "before" and len(found.dominoes):
        _draw_dominoes(axes, found.dominoes, scale)


def _draw_dominoes(axes: Axes, dominoes: pd.DataFrame, scale: float) -> None:
    """The waits of the path, numbered, joined by a line."""
    middle = (dominoes["begin_s"] + dominoes["wait_s"] / 2) / scale
    axes.plot(middle, dominoes["rank"], color=DOMINO, linewidth=1.0, linestyle="--", zorder=4)
    axes.scatter(middle, dominoes["rank"], s=90, color="white", edgecolor=DOMINO, zorder=5)
    for number, at, rank in zip(dominoes["number"], middle, dominoes["rank"], strict=True):
        axes.text(at, rank, str(number), ha="center", va="center", fontsize=7, zorder=6)


def _handles(found: RunTimeline) -> list[Artist]:
    """What the colours mean, of those that there are."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    there = set(found.bars["what"])
    handles: list[Artist] = [Patch(color=colour, label=LABELS[what]) for what, colour in COLOURS.items() if what in there]
    handles.append(Patch(facecolor="white", edgecolor=ARROW, linewidth=0.5, label="computation"))
    handles.append(Line2D([], [], color=DOMINO, linestyle=":", label="end of the run"))
    if len(found.dominoes):
        handles.append(Line2D([], [], color=DOMINO, linestyle="--", marker="o", markerfacecolor="white", label="domino path"))
    return handles


def timeline_sections(found: RunTimeline) -> tuple[Section, ...]:
    """What was drawn, in numbers."""
    hidden = [Section("", text=f"{found.n_hidden:,} of the shortest calls are not drawn.")] if found.n_hidden else []
    dominoes = Section("Domino path, the first to push on top", found.dominoes)
    if found.assumed is not None:
        return (*assumed_sections(found.assumed), dominoes, *hidden)
    return (dominoes, *hidden, rests_on(found.validation))


def timeline_answer(found: RunTimeline) -> Answer:
    """Before, and after if something was assumed."""
    return validation_answer(found.validation) if found.assumed is None else assumed_answer(found.assumed)


def write_timeline_figure(found: RunTimeline, path: Path) -> None:
    """The drawing alone (.svg, .png or .pdf)."""
    save_figure(timeline_figure(found), path)


def write_timeline_page(found: RunTimeline, path: Path) -> None:
    """One offline page: the drawing and the tables."""
    parts: list[Section | Picture] = [Picture("Timeline", timeline_figure(found)), *timeline_sections(found)]
    write_page(path, f"Run {found.source}", parts, lead=timeline_answer(found).text())
