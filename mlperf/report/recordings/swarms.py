"""How swarms of functions are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlperf.report.figures.figures import PALETTE, single_axes
from mlperf.report.text.answer import Answer, count_text, plain_time
from mlperf.report.text.numbers import percent_text
from mlperf.report.text.views import Section
from mlperf.report.traces.ranks import sentences

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mlperf.traces.swarms.swarms import Swarms

N_TOLD = 3
N_SHOWN = 16
N_FUNCTIONS = 5
LONGEST = 38


def swarms_answer(found: Swarms) -> Answer:
    """The heaviest swarms of the place with most events."""
    asked = f"{found.source}: {count_text(len(found.functions), 'function')} in {count_text(len(found.swarms), 'swarm')}"
    work = found.swarms[found.swarms["role"] != "idle"]
    if work.empty:
        return Answer(asked, "nothing but waiting")
    place = work.groupby("place")["n_events"].sum().idxmax()
    own = work[work["place"] == place].sort_values("time_s", ascending=False, kind="stable")
    told = [
        f"{row['name']} {percent_text(row['share'])} ({plain_time(row['time_s'])})" for row in own.head(N_TOLD).to_dict("records")
    ]
    offered = found.swarms.loc[found.swarms["role"] == "parameter synchronisation", "name"].tolist()
    more = f"; {', '.join(offered)} may synchronise parameters" if offered else ""
    return Answer(asked, f"on {place}: {', '.join(told)}{more}")


def swarms_sections(found: Swarms) -> tuple[Section, ...]:
    """Swarms, followers, then what each swarm consists of."""
    table = ["swarm", "name", "place", "found_by", "role", "time_s", "share", "n_functions", "n_bursts", "period_s"]
    sections = [
        Section("Swarms", found.swarms[table], secondary=("found_by", "n_functions", "n_bursts")),
        Section("", text="\n".join(f"{row.swarm}. {row.caption}" for row in found.swarms.itertuples())),
    ]
    follows = found.pairs[found.pairs["verdict"] != "no order"]
    if len(follows):
        shown = follows.drop(columns=["first_before", "lag_spread_s"])
        sections.append(Section("Which swarm follows which in the steps", shown, secondary=("p_value", "together")))
    first = found.functions.groupby("swarm", sort=True).head(N_FUNCTIONS).sort_values("swarm", kind="stable")
    sections.append(Section("What swarms consist of", first.drop(columns="place"), is_detail=True))
    return (*sections, Section("", text="\n".join(sentences(found.notes))))


def swarms_figure(found: Swarms) -> Figure:
    """Activity of the heaviest swarms over the run, a lane each, with where it works shaded by how much."""
    frame = found.swarms.sort_values(["share", "time_s"], ascending=False, kind="stable").head(N_SHOWN).sort_index()
    with single_axes(8.0, 1.2 + 0.34 * len(frame)) as (figure, axes):
        for lane, row in enumerate(frame.to_dict("records")):
            _lane(axes, lane, found.activity_s[row["swarm"]], (found.start_s, found.end_s), PALETTE[row["swarm"] % len(PALETTE)])
        labels = [_label(row["name"], row["place"]) for row in frame.to_dict("records")]
        axes.set_yticks(np.arange(len(frame)) + 0.4, labels)
        axes.set(xlabel="time (s)", ylim=(len(frame), -0.2), title="when each swarm works")
        axes.set_xlim(0.0, found.end_s - found.start_s)
        axes.grid(visible=False, axis="y")
    return figure


def _label(name: str, place: str) -> str:
    """A swarm's name with its place, once."""
    return f"{name.removesuffix(f' ({place})')[:LONGEST]} ({place})"


def _lane(axes: Axes, lane: int, activity: np.ndarray, span: tuple[float, float], colour: str) -> None:
    """One swarm's activity as a filled curve, its largest part of the run as high as the lane."""
    edges = np.linspace(0.0, span[1] - span[0], len(activity) + 1)
    height = activity / max(float(activity.max()), 1e-12) * 0.8
    axes.stairs(lane + 0.8 - height, edges, baseline=lane + 0.8, fill=True, color=colour)
