"""The events of a recording as lines with levels of detail, ready for a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import IntArray
from mlperf.core.printable import printable
from mlperf.report.recordings.page.packing import packed
from mlperf.report.recordings.page.parts import PageParts
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable, is_held
from mlperf.traces.timeline.event_lanes import SAMPLED, Lane, event_lanes
from mlperf.traces.timeline.flames import Groups
from mlperf.traces.timeline.levels import Items, Level, depths, exact_items, joined_runs, levels_of, shares

MOST_ITEMS = 250_000
"""Items of all lines at their finest level: with 19 bytes each they are half of the page's ten megabytes."""
MOST_LANES = 400
MOST_LABELS = 12_000
LONGEST_LABEL = 160
TICKS = 2**32 - 1
SAMPLE_KINDS = tuple(int(kind) for kind in SAMPLED)


@dataclass(frozen=True, slots=True, eq=False)
class _Line:
    """A line to draw: one depth of a lane."""

    lane: Lane
    depth: int
    items: Items
    n_events: int


def timeline_document(parts: PageParts, most_items: int = MOST_ITEMS) -> dict[str, Any]:
    """Lines, their levels of detail, labels, steps.

    Parameters
    ----------
    parts : PageParts
    most_items : int
        Items of all lines at their finest level.

    Returns
    -------
    dict
        JSON types; times in ticks of ``tick_ns`` since ``begin_ns``, packed arrays as `packed` gives them; ``notes`` tells what is
        left out.
    """
    begin, end = parts.span_ns
    tick = (end - begin) // TICKS + 1
    events = parts.recording.events
    labels, texts, notes = _labels(events, parts.swarms)
    lines, more = _lines(events, labels)
    allowed = shares([len(each.items) for each in lines], most_items)
    detail = typical_step(parts)
    drawn = [
        _line_document(each, levels_of(each.items, (begin, end), most, detail), begin, tick)
        for each, most in zip(lines, allowed, strict=True)
    ]
    return {
        "begin_ns": begin,
        "end_ns": end,
        "tick_ns": tick,
        "n_events": len(events),
        "run_ns": [parts.recording.start_ns, parts.recording.end_ns],
        "detail_ns": list(detail) if detail else None,
        "labels": texts,
        "swarms": list(parts.swarms.names) if parts.swarms else [],
        "processes": {str(pid): printable(str(text))[:LONGEST_LABEL] for pid, text in _processes(events).items()},
        "lines": drawn,
        "steps": _steps(parts, begin, tick),
        "notes": [*notes, *more],
    }


def typical_step(parts: PageParts) -> tuple[int, int] | None:
    """The step of median length of the first rank: between its ends everything is kept where that is possible."""
    if parts.steps is None or not parts.steps.windows or not len(parts.steps.windows[0]):
        return None
    windows = parts.steps.windows[0]
    length = windows.end_ns - windows.start_ns
    at = int(np.argsort(length, kind="stable")[len(length) // 2])
    return int(windows.start_ns[at]), int(windows.end_ns[at])


def _labels(events: EventTable, swarms: Groups | None) -> tuple[IntArray, list[list[Any]], list[str]]:
    """Number of each event's label; of each label name, place and swarm; a note if some stand under one."""
    packets = events.kind == Kind.PACKET
    name = np.where(packets, events.site, events.name) if is_held(events.site) and packets.any() else events.name
    of_swarm = np.full(len(events), -1) if swarms is None else swarms.of_event
    code, _ = pd.factorize((name.astype(np.int64) + 1) * (len(events.strings) + 1) + events.name2 + 1)
    number, _ = pd.factorize(code * (int(of_swarm.max(initial=-1)) + 2) + of_swarm + 1)
    _, at = np.unique(number, return_index=True)
    notes = []
    if len(at) > MOST_LABELS:
        weight = np.bincount(number, weights=np.maximum(events.duration_ns, events.weight_ns).astype(float) + 1)
        kept = np.sort(np.argsort(-weight, kind="stable")[: MOST_LABELS - 1])
        place = np.full(len(at), len(kept))
        place[kept] = np.arange(len(kept))
        notes.append(f"{len(at) - len(kept):,} names with the least time are shown as one")
        number, at = place[number], at[kept]
    texts = [_label(events, int(row), bool(packets[row]), int(name[row]), int(of_swarm[row])) for row in at.tolist()]
    return number.astype(np.int32), [*texts, *([["(other names)", "", -1]] if notes else [])], notes


def _label(events: EventTable, row: int, is_packet: bool, name: int, swarm: int) -> list[Any]:
    """Name, place, swarm."""
    first = printable(events.strings[name]) if name >= 0 else Kind(int(events.kind[row])).name.lower()
    second = printable(events.strings[events.name2[row]]) if events.name2[row] >= 0 else ""
    if is_packet:
        first, second = f"{first} to {second}", ""
    return [_cut(first), _cut(second), swarm]


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…"


def _lines(events: EventTable, labels: IntArray) -> tuple[list[_Line], list[str]]:
    """Lines of all lanes; a note where there are more than a page shows."""
    found = event_lanes(events)
    notes = []
    counts = np.diff(found.first)
    chosen = range(len(found.lanes))
    if len(found.lanes) > MOST_LANES:
        chosen = np.sort(np.argsort(-counts, kind="stable")[:MOST_LANES]).tolist()
        left = np.setdiff1d(np.arange(len(counts)), chosen)
        notes.append(f"{len(left):,} lines with the fewest events ({int(counts[left].sum()):,} in all) are not drawn")
    lines: list[_Line] = []
    for number in chosen:
        part = slice(int(found.first[number]), int(found.first[number + 1]))
        rows, start, end = found.rows[part], found.start_ns[part], found.end_ns[part]
        size = events.size_bytes[rows] if is_held(events.size_bytes) else None
        lines += _lane_lines(found.lanes[number], exact_items(start, end, labels[rows], size), events, rows)
    return lines, notes


def _lane_lines(lane: Lane, items: Items, events: EventTable, rows: IntArray) -> list[_Line]:
    """A lane's lines: one, or one a depth where events overlap."""
    if len(rows) and int(events.kind[rows[0]]) in SAMPLE_KINDS:
        step = int(np.median(events.weight_ns[rows])) if is_held(events.weight_ns) else 0
        return [_Line(lane, 0, joined_runs(items, step // 2), len(items))]
    order = np.lexsort((items.start_ns - items.end_ns, items.start_ns))
    items = items.take(order)
    depth = depths(items.start_ns, items.end_ns)
    found = []
    for each in range(int(depth.max(initial=0)) + 1):
        own = items.take(depth == each)
        found.append(_Line(lane, each, own, len(own)))
    return found


def _line_document(line: _Line, levels: Sequence[Level], begin: int, tick: int) -> dict[str, Any]:
    lane = line.lane
    return {
        "group": lane.group,
        "rank": lane.rank,
        "pid": lane.pid,
        "label": printable(lane.label)[:LONGEST_LABEL],
        "depth": line.depth,
        "n_events": line.n_events,
        "levels": [_level_document(each, begin, tick) for each in levels],
    }


def _level_document(level: Level, begin: int, tick: int) -> dict[str, Any]:
    """One level; columns of which every value is the usual one are left out."""
    items = level.items
    start = (items.start_ns - begin) // tick
    length = np.maximum(items.end_ns - items.start_ns, 0) // tick
    whole = np.maximum(items.end_ns - items.start_ns, 1)
    found = {
        "width_ns": level.width_ns,
        "from_ns": level.from_ns,
        "to_ns": level.to_ns,
        "n": len(items),
        "start": packed(start, "u4"),
        "length": packed(length, "u4"),
        "label": packed(items.label, "u2"),
    }
    if (items.count != 1).any():
        found["fill"] = packed(np.ceil(255 * np.minimum(items.busy_ns / whole, 1.0)), "u1")
        found["count"] = packed(items.count, "u4")
    if items.size_bytes.any():
        found["size"] = packed(items.size_bytes, "f4")
    return found


def _steps(parts: PageParts, begin: int, tick: int) -> list[dict[str, Any]]:
    """Steps of each rank."""
    return [
        {
            "rank": each.rank,
            "n": len(each),
            "number": packed(each.number, "i4"),
            "start": packed((each.start_ns - begin) // tick, "u4"),
            "length": packed((each.end_ns - each.start_ns) // tick, "u4"),
        }
        for each in (parts.steps.windows if parts.steps else ())
    ]


def _processes(events: EventTable) -> dict[str, Any]:
    found = events.attributes.get("processes", {})
    return dict(found) if isinstance(found, dict) else {}
