"""Figure 1 of the SPRINT paper: the threads of a run on one time axis, lock waits marked; also as a Chrome trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import pandas as pd

from mlperf.core.files import write_text_whole
from mlperf.core.places import check_figure_type
from mlperf.report.figures.figures import GREY, add_caption, save_figure, single_axes
from mlperf.report.text.numbers import TIME_UNITS_S, best_unit
from mlperf.report.text.views import Section
from mlperf.systems.sprint.components import LOCK_WAITS
from mlperf.traces.timeline.chrome import chrome_text
from mlperf.traces.timeline.lanes import UPDATE, ThreadTimeline, thread_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mlperf.traces.timeline.lanes import TimelineSummary

MOST_LANES = 20
BAR = 0.74
NODE_GAP = 0.55
# A wait narrower than this share of the axis could be overlooked: a triangle points at it. Below the second one nothing is shown.
NARROW, INVISIBLE = 0.008, 0.0004
# A bar must be this share of the axis to hold a number.
ROOM_FOR_TEXT = 0.022


@dataclass(frozen=True, slots=True)
class Look:
    """How one kind of time is drawn."""

    label: str
    color: str
    hatch: str = ""
    edge: str = "white"
    text: str = "black"


GRADIENT = Look("gradient", "#56B4E9")
IMAGES = Look("load and deform images", "#F0E442")
VALUE = Look("update value", "#999999")
BUFFER = Look("gradient buffer, lock held:\nadd to it, sum it", "#E69F00")
WEIGHTS = Look("weights, lock held:\nfetch, overwrite", "#009E73")
MOMENTUM = Look("old weights, momentum", "#CC79A7")
ALLREDUCE = Look("all-reduce", "#0072B2", text="white")
BARRIER = Look("wait at the barrier", "#FFFFFF", hatch="////", edge="#999999")
LOCK = Look("wait for a lock", "#D55E00", edge="#D55E00")

LOOKS: Mapping[str, Look] = MappingProxyType(
    {
        "gpu_work": GRADIENT,
        "compute_gradient": GRADIENT,
        "load_image": IMAGES,
        "deform_image": IMAGES,
        "compute_update_value": VALUE,
        "update_gradient": BUFFER,
        "sum_gradient": BUFFER,
        "fetch_weights": WEIGHTS,
        "update_weights": WEIGHTS,
        "prepare": MOMENTUM,
        "update_old_weights": MOMENTUM,
        "add_momentum": MOMENTUM,
        "update_momentum": MOMENTUM,
        "allreduce": ALLREDUCE,
        "barrier": BARRIER,
        **dict.fromkeys(LOCK_WAITS, LOCK),
    }
)


def timeline_sections(result: TimelineSummary) -> tuple[Section, ...]:
    """How each thread spent its time, and where the picture is."""
    title = f"Threads of a {result.origin} run, mode: {result.mode}"
    return (Section(title, result.threads), Section("", text=f"{result.n_intervals} intervals; written: {result.file}"))


def write_timeline(timeline: ThreadTimeline, path: Path, window_s: tuple[float, float] | None = None) -> None:
    """Write a Chrome trace (``.json``, the whole run unless a window is given) or a figure (``.svg``, ``.png``, ``.pdf``).

    Parameters
    ----------
    timeline : ThreadTimeline
        What to show.
    path : Path
        Its ending says which.
    window_s : (float, float), optional
        Begin and end, seconds since the first interval; a figure shows a few updates in the middle by default.

    Raises
    ------
    UsageError
        Another ending, or a window that holds nothing.
    """
    if check_figure_type(path, "json") == "json":
        write_text_whole(path, chrome_text(timeline if window_s is None else timeline.within(*window_s)))
        return
    save_figure(timeline_figure(timeline, window_s), path)


def timeline_figure(timeline: ThreadTimeline, window_s: tuple[float, float] | None = None) -> Figure:
    """Draw one lane a thread, one bar an interval; see `write_timeline`.

    The axis counts from the first interval, as a window does, so that what is seen in one picture can be asked for in the next.
    Numbers in gradients say which update uses them, numbers in all-reduces which update that is; dotted lines are publications of
    new weights.
    """
    begin_s, end_s = window_s or timeline.middle()
    lanes = shown_lanes(timeline)
    wanted = timeline.within(begin_s, end_s).intervals
    shown = wanted[pd.MultiIndex.from_frame(wanted[["node", "thread"]]).isin(lanes)]
    unit = best_unit([(end_s - begin_s) / 3.0], TIME_UNITS_S, "s")
    size_s = TIME_UNITS_S[unit]
    drawn = shown.assign(begin=shown["begin_s"].clip(lower=begin_s) / size_s, end=shown["end_s"].clip(upper=end_s) / size_s)
    width = (end_s - begin_s) / size_s
    places = lane_places(lanes)
    with single_axes(9.0, 1.9 + 0.3 * (len(lanes) + NODE_GAP * len({node for node, _ in lanes}))) as (figure, axes):
        axes.grid(visible=False)
        draw_bars(axes, drawn, places)
        draw_numbers(axes, drawn, places, width)
        marked = mark_waits(axes, drawn, places, width)
        draw_publications(axes, drawn, places)
        label_lanes(axes, places)
        axes.set(xlim=(begin_s / size_s, end_s / size_s), xlabel=f"time since the run's start ({unit})")
        axes.set_title(f"Threads of a {timeline.origin} run")
        axes.ticklabel_format(axis="x", useOffset=False, style="plain")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.4, handlelength=1.4, fontsize=8)
        add_caption(figure, caption(timeline, lanes, marked=marked))
    return figure


def shown_lanes(timeline: ThreadTimeline) -> list[tuple[int, int]]:
    """The lanes of as many whole nodes as fit, of the first one in any case."""
    lanes = timeline.lanes
    first = lanes[0][0] if lanes else 0
    fitting = [lane for number, lane in enumerate(lanes) if lane[0] == first or last_of_node(lanes, lane[0]) < MOST_LANES]
    return fitting[:MOST_LANES] if len({node for node, _ in fitting}) == 1 else fitting


def last_of_node(lanes: list[tuple[int, int]], node: int) -> int:
    """Position of a node's last lane."""
    return max(number for number, lane in enumerate(lanes) if lane[0] == node)


def lane_places(lanes: list[tuple[int, int]]) -> dict[tuple[int, int], float]:
    """Height of every lane's middle, downwards from 0, a gap between nodes."""
    order = sorted({node for node, _ in lanes})
    return {lane: -(number + NODE_GAP * order.index(lane[0])) for number, lane in enumerate(lanes)}


def lane_of(table: pd.DataFrame, places: Mapping[tuple[int, int], float]) -> pd.Series:
    """Height of each row's lane."""
    return pd.Series([places[(node, thread)] for node, thread in zip(table["node"], table["thread"], strict=True)], table.index)


def draw_bars(axes: Axes, drawn: pd.DataFrame, places: Mapping[tuple[int, int], float]) -> None:
    """One bar an interval; the legend names each kind once."""
    looks = drawn["activity"].map(LOOKS)
    for look in dict.fromkeys(LOOKS.values()):
        of_look = drawn[[each is look for each in looks]]
        label = look.label
        for lane, place in places.items():
            rows = of_look[(of_look["node"] == lane[0]) & (of_look["thread"] == lane[1])]
            if rows.empty:
                continue
            axes.broken_barh(
                list(zip(rows["begin"], rows["end"] - rows["begin"], strict=True)),
                (place - BAR / 2, BAR),
                facecolor=look.color,
                edgecolor=look.edge,
                hatch=look.hatch,
                linewidth=0.3,
                label=label,
                zorder=3 if look is LOCK else 2,
            )
            label = "_" + look.label


def draw_numbers(axes: Axes, drawn: pd.DataFrame, places: Mapping[tuple[int, int], float], width: float) -> None:
    """Write the update into gradients and all-reduces that are wide enough."""
    numbered = drawn["activity"].isin(("compute_gradient", "gpu_work", "allreduce")) & (drawn["update"] >= 0)
    wide = drawn[numbered & (drawn["end"] - drawn["begin"] > ROOM_FOR_TEXT * width)]
    middles = ((wide["begin"] + wide["end"]) / 2).tolist()
    columns = (wide["activity"].tolist(), wide["update"].tolist(), middles, lane_of(wide, places).tolist())
    for activity, update, middle, place in zip(*columns, strict=True):
        axes.text(middle, place, str(update), ha="center", va="center_baseline", fontsize=6.5, color=LOOKS[activity].text, zorder=4)


def mark_waits(axes: Axes, drawn: pd.DataFrame, places: Mapping[tuple[int, int], float], width: float) -> bool:
    """Put a triangle over every lock wait that is too narrow to be seen well; whether there is one."""
    length = (drawn["end"] - drawn["begin"]) / width
    narrow = drawn[drawn["activity"].isin(LOCK_WAITS) & (length < NARROW) & (length > INVISIBLE)]
    if len(narrow):
        middle = (narrow["begin"] + narrow["end"]) / 2
        axes.plot(middle, lane_of(narrow, places) + 0.47, "v", color=LOCK.color, markersize=3.2, markeredgewidth=0, zorder=5)
    return bool(len(narrow))


def draw_publications(axes: Axes, drawn: pd.DataFrame, places: Mapping[tuple[int, int], float]) -> None:
    """A dotted line through the lanes of a node where its update thread has published new weights."""
    published = drawn[drawn["activity"] == "update_weights"]
    for node, rows in published.groupby("node"):
        heights = [place for lane, place in places.items() if lane[0] == node]
        axes.vlines(
            rows["end"], min(heights) - 0.5, max(heights) + 0.5, colors=GREY, linestyles=(0, (1, 2)), linewidth=0.8, zorder=1
        )


def label_lanes(axes: Axes, places: Mapping[tuple[int, int], float]) -> None:
    """Name the threads at the axis, and each node beside its threads."""
    nodes = sorted({node for node, _ in places})
    axes.set_yticks(list(places.values()), labels=[thread_name(thread) for _, thread in places])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_ylim(min(places.values()) - 0.7, 0.75)
    for node in nodes if len(nodes) > 1 else ():
        heights = [place for lane, place in places.items() if lane[0] == node]
        middle = (min(heights) + max(heights)) / 2
        axes.annotate(
            f"node {node}",
            (0, middle),
            xycoords=("axes fraction", "data"),
            xytext=(-50, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            rotation=90,
            fontsize=8.5,
            fontweight="bold",
        )


def caption(timeline: ThreadTimeline, lanes: list[tuple[int, int]], *, marked: bool) -> str:
    """What the picture shows and what it does not."""
    every = timeline.lanes
    told = ["Simulated. " if timeline.origin == "simulated" else f"Recorded, mode: {timeline.mode}. "]
    if len(lanes) < len(every):
        told.append(f"{len(lanes)} of {len(every)} threads. ")
    told.append("Dotted: new weights are published. ")
    if marked:
        told.append("Triangles point at short waits for a lock. ")
    if (timeline.intervals.loc[timeline.intervals["thread"] != UPDATE, "update"] >= 0).any():
        told.append("Numbers: the update that uses the gradient. ")
    else:
        told.append("Numbers: updates. ")
    if timeline.origin == "recorded":
        told.append("An update's waits for the buffers of its node are drawn as one, and so are its additions.")
    return "".join(told).strip()
