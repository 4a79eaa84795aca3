"""How a system fitted to a table of steps is shown: costs, errors of left-out rows, rules of thumb beside, what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from mlperf.report.text.answer import Answer, count_text
from mlperf.report.text.numbers import number_text, percent_text
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from mlperf.training.systems.system_fit import SystemFit

LESS = ("meaning", "unit")


def fit_sections(result: SystemFit) -> tuple[Section, ...]:
    """Errors, rules of thumb, costs by component, terms that the rows cannot tell."""
    errors = {f"{name}_error" if name != "mape" else name: value for name, value in result.errors.items()}
    summary = pd.DataFrame([{"rows": result.n_rows, "terms": len(result.terms), "r2_adj": result.r2_adj, **errors}])
    rules = result.rules.rename(columns={"error": "left_out_error", "error_of_counts": "most_gpus_left_out_error"})
    sections = [
        Section(f"{result.system}: steps, {result.method}", summary),
        Section("Beside rules of thumb, the same rows left out", rules),
        Section("What each term costs", result.coefficients(), secondary=LESS),
    ]
    if result.left_out:
        told = pd.DataFrame({"term": list(result.left_out), "why": list(result.left_out.values())})
        sections.append(Section("Terms that the rows cannot tell", told))
    return (*sections, *((Section("", text="\n".join(result.notes)),) if result.notes else ()))


def fit_answer(result: SystemFit) -> Answer:
    """How far left-out steps were missed, and what beats the model, if anything does."""
    rules = result.rules
    thumbs = rules[~rules["rule"].str.startswith("physical")].dropna(subset=["error"])
    asked = f"{count_text(result.n_rows, 'step')} of {result.system}"
    known = result.errors["mape"] == result.errors["mape"]
    found = (
        f"left out, they are missed by {percent_text(result.errors['mape'])} on average"
        if known
        else "too few rows to leave any out"
    )
    if len(thumbs) and known:
        best = thumbs.sort_values("error").iloc[0]
        better = "which errs less" if best["error"] < result.errors["mape"] else "rejected"
        found += f"; best rule of thumb: {best['rule']}, {percent_text(float(best['error']))}, {better}"
    low, high = result.bounds["n_gpus"]
    gpus = number_text(low) if low == high else f"{low:g} to {high:g}"
    return Answer(asked, f"{found}; measured on {gpus} GPUs")
