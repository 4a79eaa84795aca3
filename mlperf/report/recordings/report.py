"""How a report that was written is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from mlperf.report.text.answer import Answer, count_text
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from mlperf.report.recordings.page.report import WrittenReport


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
