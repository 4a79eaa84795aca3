"""How accuracy on open measurements is shown: what was reached, beside goals where limits were given, then every method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from mlperf.studies.open_data.scoring.result import OpenAccuracy

NAMES = {
    "median": "median_error",
    "q3": "third_quartile_error",
    "max": "max_error",
    "bias": "mean_error",
    "in_domain": "in_domain_share",
}
LEFT_OUT = ("mape_unclipped", "nonpositive", "n_terms")


def accuracy_sections(result: OpenAccuracy) -> tuple[Section, ...]:
    """Goals or findings, the errors of every method by task, and what to know about them."""
    scores = result.score_frame().drop(columns=list(LEFT_OUT)).rename(columns=NAMES)
    parts = [Section("Goals" if result.goals else "Findings", result.to_frame())]
    for task, rows in scores.groupby("task", sort=False):
        about = result.protocols.get(str(task), {})
        parts.append(
            Section(f"{task}: {about.get('title', '')}, {about.get('split', '')}", rows.drop(columns="task").pipe(known_columns))
        )
        notes = result.notes.get(str(task), ())
        if notes:
            parts.append(Section("", text="\n".join(f"- {note}" for note in notes)))
    if result.goals:
        n_met = len(result.goals) - len(result.missed())
        parts.append(Section("", text=f"{n_met} of {len(result.goals)} goals reached."))
    return tuple(parts)


def known_columns(table: pd.DataFrame) -> pd.DataFrame:
    """The columns in which any row says something."""
    said = [name for name in table.columns if (table[name].notna() & (table[name] != "")).any()]
    return table[said]
