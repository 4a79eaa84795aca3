"""How one fit with its tests is shown: what was fitted, its coefficients as a table, what the tests say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from mlperf.report.text.numbers import Written
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from mlperf.models.inference.report import FitReport

LESS = (
    *("kept", "VIF", "std_err HC3", "t (groups)", "std_err (groups)", "p (selective)", "p (groups)"),
    *(("2.5 %", "97.5 %"), "std_err", "t"),
)
"""What a narrow terminal leaves out of the coefficients, the first to go first."""


def fit_sections(title: str, fit: FitReport, *, level: int = 2) -> tuple[Section, ...]:
    """The lines above the coefficients, under a heading of the ``level``, their table, and the lines below."""
    above, cells, below = fit.parts()
    terms = {"term": cells.pop("term")} | {name: [*map(Written, column)] for name, column in cells.items()}
    return (
        Section(title, text=above, level=level),
        Section("", pd.DataFrame(terms, dtype=object), secondary=LESS),
        Section("", text=below),
    )
