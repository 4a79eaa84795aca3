"""How the accuracy ladder is shown: goals beside what was reached, then every method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from mlperf.studies.open_data.result import Ladder

NAMES = {
    "median": "median_error",
    "q3": "third_quartile_error",
    "max": "max_error",
    "bias": "mean_error",
    "in_domain": "in_domain_share",
}
LEFT_OUT = ("mape_unclipped", "nonpositive", "n_terms")


def ladder_sections(result: Ladder) -> tuple[Section, ...]:
    """Goals, the errors of every method by rung, and what to know about them."""
    scores = result.score_frame().drop(columns=list(LEFT_OUT)).rename(columns=NAMES)
    parts = [Section("Goals", result.to_frame())]
    for rung, rows in scores.groupby("rung", sort=False):
        about = result.protocols.get(str(rung), {})
        parts.append(
            Section(f"{rung}: {about.get('title', '')}, {about.get('split', '')}", rows.drop(columns="rung").pipe(known_columns))
        )
        notes = result.notes.get(str(rung), ())
        if notes:
            parts.append(Section("", text="\n".join(f"- {note}" for note in notes)))
    missed = result.missed()
    met = len(result.goals) - len(missed)
    return (*parts, Section("", text=f"{met} of {len(result.goals)} goals reached."))


def known_columns(table: pd.DataFrame) -> pd.DataFrame:
    """The columns in which any row says something."""
    said = [name for name in table.columns if (table[name].notna() & (table[name] != "")).any()]
    return table[said]
