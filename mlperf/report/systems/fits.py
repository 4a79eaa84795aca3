"""How models fitted to tables of systems are shown: steps as a whole or from their parts, constants of machines, exchanges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from mlperf.report.text.answer import Answer, count_text
from mlperf.report.text.numbers import percent_text
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from mlperf.training.collectives.exchange_model import ExchangeModel
    from mlperf.training.systems.constants_model import ConstantsModel
    from mlperf.training.systems.parts_model import PartsModel
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
    gpus = count_text(int(low), "GPU") if low == high else f"{low:g} to {high:g} GPUs"
    return Answer(asked, f"{found}; measured on {gpus}")


def constants_sections(result: ConstantsModel) -> tuple[Section, ...]:
    """Every constant with its standard error, and how well the loops are met."""
    found = result.constants
    about = {"machine": found.name, "cores": found.cores, "code": found.code, "network": found.source, "misfit": result.misfit}
    return (
        Section("Constants of a machine", pd.DataFrame([about])),
        Section("What each costs", result.table, secondary=("pass",)),
        Section("Loops that they were fitted to", result.errors),
    )


def constants_answer(result: ConstantsModel) -> Answer:
    """How well the loops are met, and where the network's constants come from."""
    found = result.constants
    asked = f"{count_text(len(result.table), 'constant')} of {found.name}"
    return Answer(asked, f"loops are met within {percent_text(result.misfit)} on average; network {found.source}")


def parts_sections(result: PartsModel) -> tuple[Section, ...]:
    """Left-out errors of steps, and of every part by itself."""
    about = pd.DataFrame([{"rows": result.n_rows, "left_out_mean_error": result.mape}])
    bounds = [{"column": name, "least": low, "most": high} for name, (low, high) in result.bounds.items()]
    return (
        Section(f"{result.system}: steps from their parts", about),
        Section("Parts: errors of left-out rows on one process, and of what others add", result.to_frame()),
        Section("Measured", pd.DataFrame(bounds)),
    )


def parts_answer(result: PartsModel) -> Answer:
    """How far left-out steps were missed."""
    asked = f"{count_text(result.n_rows, 'step')} of {result.system}, by their parts"
    if result.mape != result.mape:
        return Answer(asked, "too few rows to leave any out")
    low, high = result.bounds["processes"]
    told = f"sub-batches left out are missed by {percent_text(result.mape)} on average"
    return Answer(asked, f"{told}; measured on {low:g} to {high:g} processes")


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
