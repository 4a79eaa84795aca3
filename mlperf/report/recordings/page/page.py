"""One self-contained page: everything in it, nothing fetched from anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template

import pandas as pd

from mlperf.core.files import write_text_whole
from mlperf.core.printable import printable_lines
from mlperf.report.recordings.page.blocks import (
    concurrency_bar,
    hint_block,
    matrix_block,
    step_bars,
    table_block,
    text,
)
from mlperf.report.recordings.page.flames import flame_document
from mlperf.report.recordings.page.packing import script_json
from mlperf.report.recordings.page.parts import PageParts
from mlperf.report.recordings.page.series import series_document
from mlperf.report.recordings.page.tables import PageTable
from mlperf.report.recordings.page.timeline import MOST_ITEMS, timeline_document
from mlperf.report.text.answer import count_text, plain_time
from mlperf.traces.timeline.flames import folded_stacks

MOST_BYTES = 10_000_000
"""No page is larger: where the first try is, the timeline gets half the detail, and half again."""
LEAST_ITEMS = 5_000
STYLES = ("page.css",)
SCRIPTS = ("unpack.js", "draw.js", "timeline.js", "flames.js")


def recording_page(parts: PageParts, tables: Mapping[str, PageTable], stacks: pd.DataFrame | None = None) -> str:
    """A recorded run as one HTML page of at most ten megabytes.

    Parameters
    ----------
    parts : PageParts
    tables : mapping
        As `mlperf.report.recordings.page.tables.page_tables` gives them.
    stacks : DataFrame, optional
        As `mlperf.traces.timeline.flames.folded_stacks` gives them; folded here where they are not given.

    Returns
    -------
    str
        HTML; styles, scripts and data inside. Text of the recording is escaped.
    """
    if stacks is None:
        stacks = folded_stacks(parts.recording.events, parts.swarms, parts.phases)
    most = MOST_ITEMS
    while True:
        page = _page(parts, tables, stacks, most)
        if most <= LEAST_ITEMS or len(page.encode("utf-8", "backslashreplace")) <= MOST_BYTES:
            return page
        most //= 2


def write_recording_page(path: Path, parts: PageParts, tables: Mapping[str, PageTable], stacks: pd.DataFrame | None = None) -> int:
    """Write the page, whole or not at all; returns its bytes."""
    page = recording_page(parts, tables, stacks)
    write_text_whole(path, page)
    return len(page.encode("utf-8", "backslashreplace"))


def _page(parts: PageParts, tables: Mapping[str, PageTable], stacks: pd.DataFrame, most: int) -> str:
    timeline = timeline_document(parts, most)
    series = series_document(parts, timeline["tick_ns"])
    document = {"timeline": timeline, "series": series["series"], "flames": flame_document(stacks)}
    notes = [*parts.recording.events.notes, *parts.recording.counters.notes, *timeline.pop("notes"), *series["notes"]]
    command = " ".join(map(str, parts.recording.about.get("command", []))) or str(parts.recording.folder)
    return Template(_asset("page.html")).substitute(
        title=text(command),
        lead=text(_lead(parts)),
        style="\n".join(map(_asset, STYLES)),
        script="\n".join(map(_asset, SCRIPTS)),
        data=script_json(document),
        hints=_hints(parts, tables),
        breakdown=_breakdown(parts, tables),
        links=_links(parts, tables),
        swarms=_swarms(parts, tables),
        sources=_tables(tables, "sources", "clocks", "series"),
        notes="".join(f"<li>{text(note)}</li>" for note in dict.fromkeys(notes)) or "<li>none</li>",
    )


def _asset(name: str) -> str:
    """A file that lies beside this module."""
    return files("mlperf.report.recordings.page").joinpath(name).read_text(encoding="utf-8")


def _lead(parts: PageParts) -> str:
    """The run in a sentence."""
    recording = parts.recording
    wall = plain_time((recording.end_ns - recording.start_ns) * 1e-9)
    told = [f"{count_text(len(recording.events), 'event')} and {count_text(len(recording.counters), 'reading')} of {wall}"]
    if parts.steps is not None:
        n_steps = max(len(each) for each in parts.steps.windows)
        mean = plain_time(float(parts.steps.summary["step_s"].mean()))
        told.append(f"{count_text(n_steps, 'step')} of {mean} by {parts.steps.origin}")
    if "command_exit_code" in recording.about:
        told.append(f"exit code {recording.about['command_exit_code']}")
    return "; ".join(told)


def _tables(tables: Mapping[str, PageTable], *names: str) -> str:
    return "".join(table_block(tables[name]) for name in names if name in tables)


def _absent(parts: PageParts, name: str, what: str) -> str:
    """Why something is not on the page."""
    reason = printable_lines(parts.missing.get(name, "the recording holds nothing that tells"))
    return f"<p class=absent>{text(what)}: {text(reason)}.</p>"


def _hints(parts: PageParts, tables: Mapping[str, PageTable]) -> str:
    if parts.advice is None:
        return _absent(parts, "advice", "No hints")
    return hint_block(parts.advice) + _tables(tables, "looked_at")


def _breakdown(parts: PageParts, tables: Mapping[str, PageTable]) -> str:
    bars = _absent(parts, "steps", "No steps") if parts.steps is None else step_bars(parts.steps.summary, parts.steps.phases)
    largest = concurrency_bar(tables["concurrency"].frame) if "concurrency" in tables else ""
    return bars + _tables(tables, "step", "steps") + largest + _tables(tables, "concurrency", "concurrency_windows", "functions")


def _links(parts: PageParts, tables: Mapping[str, PageTable]) -> str:
    if parts.matrix is None or parts.matrix.empty:
        return _absent(parts, "matrix", "No communication matrix")
    return matrix_block(parts.matrix) + _tables(tables, "rings", "matrix")


def _swarms(parts: PageParts, tables: Mapping[str, PageTable]) -> str:
    if parts.swarm_table is None:
        return _absent(parts, "swarms", "No swarms")
    return _tables(tables, "swarms", "swarm_pairs")
