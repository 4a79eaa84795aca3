"""How drawn figures are shown: what was written, with captions, and what was skipped, with reasons."""

from __future__ import annotations

import pandas as pd

from mlperf.core.printable import printable
from mlperf.report.paper.result import PaperFigures
from mlperf.report.text.views import Section


def figure_sections(result: PaperFigures) -> tuple[Section, ...]:
    """A table of the figures drawn, one of those skipped, then the captions."""
    sections = []
    if result.drawn:
        rows = [(item.number, item.title, item.mode, item.n_rows, printable(", ".join(item.files))) for item in result.drawn]
        columns = ["figure", "title", "mode", "n_rows", "files"]
        sections.append(Section(f"Figures of campaign {result.campaign}", pd.DataFrame(rows, columns=columns)))
    if result.skipped:
        left_out = [(item.number, item.title, item.reason) for item in result.skipped]
        sections.append(Section("Skipped", pd.DataFrame(left_out, columns=["figure", "title", "reason"])))
    if result.drawn:
        sections.append(Section("Captions", text="\n".join(item.caption for item in result.drawn)))
    return tuple(sections)
