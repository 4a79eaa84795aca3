"""How a table of recorded runs is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlperf.report.text.answer import Answer, count_text, plain_time
from mlperf.report.text.views import Section
from mlperf.report.traces.ranks import sentences

if TYPE_CHECKING:
    from mlperf.traces.run_table import RunTable

N_STEPS = 6


def run_table_answer(found: RunTable) -> Answer:
    """How many runs of what steps, and where they are."""
    steps = ", ".join(plain_time(value) for value in found.table["step_s"].head(N_STEPS))
    return Answer(f"{count_text(len(found.table), 'run')} of steps of {steps}", found.file or "not written: -o FILE")


def run_table_sections(found: RunTable) -> tuple[Section, ...]:
    """The table."""
    return (Section("Runs", found.table), Section("", text="\n".join(sentences(found.notes))))
