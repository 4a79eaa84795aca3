"""The tables of a recorded run's page, which are also written as CSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.errors import UsageError
from mlperf.core.files import write_text_whole
from mlperf.core.shown import plain
from mlperf.report.recordings.page.parts import PageParts
from mlperf.report.recordings.page.series import series_summary
from mlperf.report.text.answer import plain_time
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.timeline.concurrency import concurrency, concurrency_summary
from mlperf.traces.whole_run.recorded import sources_frame

N_FUNCTIONS = 50


@dataclass(frozen=True, slots=True, eq=False)
class PageTable:
    """One table.

    Attributes
    ----------
    name : str
        Of its files.
    title : str
    frame : DataFrame
    about : str
        What its columns are, in a sentence.
    is_long : bool
        Closed at first on the page.
    """

    name: str
    title: str
    frame: pd.DataFrame
    about: str = ""
    is_long: bool = False


def page_tables(parts: PageParts) -> dict[str, PageTable]:
    """All tables that a recording's parts give, by name; those of parts that are None are left out."""
    windows = concurrency(parts.recording.events, parts.recording.counters, (parts.recording.start_ns, parts.recording.end_ns))
    about = parts.recording.about
    length = plain_time(float(windows["length_s"].max()))
    found = [
        *_step_tables(parts),
        PageTable("concurrency", "What the run mostly did", concurrency_summary(windows), f"By windows of {length}."),
        PageTable("concurrency_windows", f"Every window of {length}", windows, is_long=True),
        *_links(parts),
        *_hints(parts),
        *_swarms(parts),
        PageTable("functions", "Functions that take most processor time", heaviest_functions(parts.recording.events), is_long=True),
        PageTable("sources", "Sources", sources_frame(about), "What was recorded, and what could not be, and why."),
        PageTable("clocks", "Clocks", clock_table(about, parts.recording.events), "How well events of different clocks line up."),
        PageTable("series", "Series", series_summary(parts.recording.counters), is_long=True),
    ]
    return {each.name: each for each in found if len(each.frame)}


def _step_tables(parts: PageParts) -> list[PageTable]:
    if parts.steps is None:
        return []
    told = (
        "Means of a step without each rank's first. Kernel, exposed communication and cpu add up to the step, and so do the "
        "phases with other; busy is processor time by samples, of all threads and of the one that marks the steps."
    )
    return [
        PageTable("step", "Where the time of a step goes", parts.steps.summary, told),
        PageTable("steps", "Every step", parts.steps.steps, is_long=True),
    ]


def _links(parts: PageParts) -> list[PageTable]:
    found = []
    if parts.matrix is not None:
        found.append(PageTable("matrix", "Who sends how much to whom", parts.matrix, is_long=True))
    if parts.rings is not None:
        found.append(PageTable("rings", "Rings", parts.rings))
    return found


def _hints(parts: PageParts) -> list[PageTable]:
    if parts.advice is None:
        return []
    return [
        PageTable("hints", "What changes would bring, a step", parts.advice.hints),
        PageTable("looked_at", "What was looked at", parts.advice.looked_at, is_long=True),
    ]


def _swarms(parts: PageParts) -> list[PageTable]:
    found = []
    if parts.swarm_table is not None:
        found.append(PageTable("swarms", "Functions that belong together", parts.swarm_table))
    if parts.swarm_pairs is not None:
        found.append(PageTable("swarm_pairs", "Which swarm follows which", parts.swarm_pairs, is_long=True))
    return found


def heaviest_functions(events: EventTable, most: int = N_FUNCTIONS) -> pd.DataFrame:
    """Functions by processor time: ``function, object, cpu_s, share, n_samples``; the rest is one row."""
    rows = np.flatnonzero(events.kind == Kind.SAMPLE)
    columns = {"function": events.name[rows], "object": events.name2[rows], "weight": events.weight_ns[rows]}
    groups = pd.DataFrame(columns).groupby(["function", "object"], sort=True)["weight"].agg(["sum", "size"]).reset_index()
    groups = groups.sort_values("sum", ascending=False, kind="stable")
    shown, rest = groups.iloc[:most], groups.iloc[most:]
    total = max(float(groups["sum"].sum()), 1.0)
    found = pd.DataFrame(
        {
            "function": events.text(shown["function"].to_numpy()),
            "object": events.text(shown["object"].to_numpy()),
            "cpu_s": shown["sum"].to_numpy(float) * 1e-9,
            "share": shown["sum"].to_numpy(float) / total,
            "n_samples": shown["size"].to_numpy(),
        }
    )
    if len(rest):
        spent = float(rest["sum"].sum())
        last = {"function": f"({len(rest):,} more)", "object": "", "cpu_s": spent * 1e-9, "share": spent / total}
        found = pd.concat([found, pd.DataFrame([{**last, "n_samples": int(rest["size"].sum())}])], ignore_index=True)
    return found


def clock_table(about: Mapping[str, Any], events: EventTable) -> pd.DataFrame:
    """What is known of the clocks: ``clock, uncertainty_s, drift_s``.

    Uncertainty of a reading is half the time that it took; drift is how far the system's clock moved against the steady one between
    the first and the last reading.
    """
    rows: list[tuple[str, float, float]] = []
    readings = [each for each in about.get("clocks") or [] if {"before_ns", "realtime_ns", "after_ns"} <= set(each)]
    if readings:
        ahead = [int(each["realtime_ns"]) - (int(each["before_ns"]) + int(each["after_ns"])) // 2 for each in readings]
        width = max((int(each["after_ns"]) - int(each["before_ns"]) + 1) // 2 for each in readings)
        rows.append(("system time against steady time", width * 1e-9, (ahead[-1] - ahead[0]) * 1e-9))
    by_rank = events.attributes.get("clock_uncertainty_ns", {})
    for rank, width in by_rank.items() if isinstance(by_rank, Mapping) else [("all", by_rank)]:
        rows.append((f"rank {rank} against rank 0", float(width) * 1e-9, float("nan")))
    return pd.DataFrame(rows, columns=["clock", "uncertainty_s", "drift_s"])


def write_tables(tables: Mapping[str, PageTable], folder: Path) -> list[Path]:
    """Write every table as ``NAME.csv`` and ``NAME.json``.

    Parameters
    ----------
    tables : mapping
    folder : Path
        Made where it is not there.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    UsageError
        The folder cannot be made.
    """
    make_folder(folder)
    written = []
    for table in tables.values():
        about = {"name": table.name, "title": table.title, "about": table.about}
        texts = {
            ".csv": table.frame.to_csv(index=False, lineterminator="\n"),
            ".json": json.dumps({**about, **plain(table.frame)}, indent=1, ensure_ascii=False) + "\n",
        }
        for ending, text in texts.items():
            path = folder / f"{table.name}{ending}"
            write_text_whole(path, text)
            written.append(path)
    return written


def make_folder(folder: Path) -> None:
    """Make a folder for output where it is not there.

    Raises
    ------
    UsageError
        It cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot be made ({error.strerror})", place=str(folder), hint="Name another folder.") from None
