"""How a run that was recorded, its report, a table of runs, and what a machine offers to record, are shown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from mlperf.report.text.answer import Answer, count_text, plain_time
from mlperf.report.text.numbers import percent_text
from mlperf.report.text.views import Section
from mlperf.report.traces.ranks import sentences

if TYPE_CHECKING:
    from mlperf.report.recordings.page.report import WrittenReport
    from mlperf.traces.run_table import RunTable
    from mlperf.traces.whole_run.probed import Probed
    from mlperf.traces.whole_run.recorded import RecordedRun

N_STEPS = 6


def recorded_answer(found: RecordedRun) -> Answer:
    """Events of how many seconds, and the command's end."""
    how = "interrupted" if found.interrupted else f"exit code {found.command_exit_code}"
    kept = f"{count_text(found.n_events, 'event')} and {count_text(found.n_readings, 'reading')} of {plain_time(found.wall_s)}"
    return Answer(f"{found.command} ({how})", f"{kept} in {found.folder}")


def recorded_sections(found: RecordedRun) -> tuple[Section, ...]:
    """What was there to record, and what it cost."""
    rows = [
        ("elapsed", plain_time(found.wall_s)),
        ("processor time, by the system", plain_time(found.cpu_s)),
        ("processor time, by samples", "no samples" if math.isnan(found.sampled_cpu_s) else plain_time(found.sampled_cpu_s)),
        ("recorders, their files made readable", f"{plain_time(found.recorder_cpu_s)} ({_share(found)})"),
        ("marks of the program", f"{found.n_marks:,}"),
    ]
    return (
        Section("Sources", found.sources, secondary=("cpu_s", "size_bytes", "hint")),
        Section("The run", pd.DataFrame(rows, columns=["what", "value"])),
        Section("", text="\n".join(sentences(found.notes))),
    )


def _share(found: RecordedRun) -> str:
    """Of one core; files are made readable after the command, which for a short one takes longer than it ran."""
    if found.recorder_cpu_s >= found.wall_s:
        return "longer than the command"
    return f"{percent_text(found.recorder_cpu_s / found.wall_s)} of one core"


def probed_sections(found: Probed) -> tuple[Section, ...]:
    """What can be recorded here, and what is missing for more."""
    return (
        Section("What this machine offers", found.sources[["source", "status", "about", "reason"]], secondary=("about",)),
        Section("For more", found.sources.loc[found.sources["hint"] != "", ["source", "hint"]], is_detail=True),
    )


def probed_answer(found: Probed) -> Answer:
    """How many of how many sources are there."""
    there = int((found.sources["status"] != "absent").sum())
    return Answer("mlperf record --probe", f"{there} of {count_text(len(found.sources), 'source')} can be recorded here")


def report_answer(found: WrittenReport) -> Answer:
    """What was written."""
    asked = f"{found.source}: {count_text(found.n_events, 'event')} and {count_text(found.n_readings, 'reading')}"
    first = str(found.files.iloc[0]["file"]) if len(found.files) else "nothing"
    more = f" and {count_text(len(found.files) - 1, 'more file')}" if len(found.files) > 1 else ""
    return Answer(asked, f"{first}{more} written")


def report_sections(found: WrittenReport) -> tuple[Section, ...]:
    """What was written, what the recording does not tell, and every file."""
    kinds = found.files.groupby("what", sort=False)["size_bytes"].agg(["size", "sum"]).reset_index()
    kinds.columns = pd.Index(["what", "files", "size_bytes"])
    sections = [Section("Written", kinds)]
    if len(found.missing):
        sections.append(Section("Not in the report", found.missing))
    return (*sections, Section("Files", found.files, is_detail=True))


def run_table_answer(found: RunTable) -> Answer:
    """How many runs of what steps, and where they are."""
    steps = ", ".join(plain_time(value) for value in found.table["step_s"].head(N_STEPS))
    return Answer(f"{count_text(len(found.table), 'run')} of steps of {steps}", found.file or "not written: -o FILE")


def run_table_sections(found: RunTable) -> tuple[Section, ...]:
    """The table."""
    return (Section("Runs", found.table), Section("", text="\n".join(sentences(found.notes))))
