"""How a trained exchange is shown: the forms with their left-out errors, what answers where, and the paper's form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from mlperf.report.text.answer import Answer, count_text
from mlperf.report.text.numbers import percent_text
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from mlperf.training.collectives.exchange_model import ExchangeModel


def exchange_sections(result: ExchangeModel) -> tuple[Section, ...]:
    """Which form answers where, every candidate, and what was left out or assumed."""
    notes = (*result.notes, paper_text(result))
    return (
        Section("Exchange", about(result)),
        Section("Forms (errors of rows left out, and of counts left out)", result.to_frame()),
        Section("", text="\n".join(f"{note[:1].upper()}{note[1:]}." for note in notes)),
    )


def exchange_answer(result: ExchangeModel) -> Answer:
    """The chosen form, its error on rows left out, and the paper's beside it."""
    errors = {one.name: one for one in result.forms}
    chosen, paper = errors[result.measured.form.name], result.forms[0]
    told = f"{chosen.name}, {percent_text(chosen.error)} on rows left out; the paper's form {paper.verdict}"
    return Answer(f"form of the {result.operation}, by data", f"{told} ({percent_text(paper.error)})")


def about(result: ExchangeModel) -> pd.DataFrame:
    """What was measured, and which form answers."""
    rows = result.rows
    counts = ", ".join(f"{count:g}" for count in sorted(rows["N"].unique()))
    return pd.DataFrame(
        [
            {
                "operation": result.operation,
                "rows": len(rows),
                "counts": counts,
                "least_bytes": rows["S"].min(),
                "most_bytes": rows["S"].max(),
                "measured_counts": result.measured.form.name,
                "other_counts": result.other.form.name,
                "noise": result.noise,
            }
        ]
    )


def paper_text(result: ExchangeModel) -> str:
    """R² of the paper's form: about the mean, and what tools print for a model without a constant."""
    told = f"(a log2 N + b) S over {count_text(len(result.rows), 'row')}: adjusted R² {result.r2_adj:.3f} about the mean"
    return f"{told} ({result.r2_uncentred:.3f} about zero, as tools print it for a model without a constant)"
