"""How the constants of a machine, and steps composed of measured parts, are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from mlperf.report.text.answer import Answer, count_text
from mlperf.report.text.numbers import percent_text
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from mlperf.training.systems.constants_model import ConstantsModel
    from mlperf.training.systems.parts_model import PartsModel


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
