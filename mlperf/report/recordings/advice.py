"""How advice on a recorded run is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlperf.planning.advice.findings import NAMED
from mlperf.report.text.answer import Answer, count_text, plain_time, time_range_text
from mlperf.report.text.numbers import percent_text
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from mlperf.planning.advice.advise import Advice


def advice_answer(found: Advice) -> Answer:
    """The first hint with what it brings."""
    asked = f"{found.source}: {count_text(found.n_steps, 'step')} of {plain_time(found.step_s)}"
    named = found.hints[found.hints["verdict"] == NAMED]
    if named.empty:
        return Answer(
            asked, "nothing found that holds the steps back" if found.hints.empty else "nothing that can be told for sure"
        )
    first = named.iloc[0]
    less = time_range_text(first["saved_s"], first["saved_lower_s"], first["saved_upper_s"], 0.95, "a step")
    return Answer(asked, f"{first['cause']} ({first['subject']}): {less} less, {percent_text(first['saved_share'])} of it")


def advice_sections(found: Advice) -> tuple[Section, ...]:
    """A table of what changes bring, each hint in sentences, and what was looked at."""
    table = ["cause", "subject", "verdict", "saved_s", "saved_lower_s", "saved_upper_s", "saved_share", "naive_s"]
    sections = []
    if len(found.hints):
        sections.append(Section("What changes would bring, a step", found.hints[table], secondary=("naive_s",)))
        sections.append(Section("", text="\n".join(_sentences(found))))
    return (*sections, Section("What was looked at", found.looked_at, is_detail=True))


def _sentences(found: Advice) -> list[str]:
    """Each hint: what was seen, what to do, what it follows from or what is missing."""
    told = []
    for number, row in enumerate(found.hints.to_dict("records"), 1):
        rest = f" Inconclusive: {row['why']}." if row["why"] else f" To do: {row['to_do']}."
        follows = f" This follows from the {row['follows_from']} above." if row["follows_from"] else ""
        told.append(f"{number}. {row['cause']}: {row['seen']}.{rest}{follows}")
    return told
