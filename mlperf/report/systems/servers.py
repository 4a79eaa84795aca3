"""How fitted parameter servers and predicted speeds are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.report.text.answer import Answer, count_text
from mlperf.report.text.numbers import number_text, percent_text
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from mlperf.training.systems.server_model import ServerModel, ServerPrediction


def servers_sections(result: ServerModel) -> tuple[Section, ...]:
    """Think and service time of every group, what was left out, and service times from features."""
    errors, service = result.errors, result.service
    about = {
        "n_groups": len(result.fits),
        "n_rows": sum(fit.n_rows for fit in result.fits),
        "scatter": result.sigma,
        "left_out_mean_error": float("nan") if errors is None else errors.mape,
        "left_out_max_error": float("nan") if errors is None else errors.max,
    }
    told = "\n".join(f"{note[:1].upper()}{note[1:]}." for note in result.notes)
    found = (
        Section("Workers at parameter servers", pd.DataFrame([about])),
        Section("Think and service times", result.to_frame(), secondary=("n_rows", "fewest", "most")),
        *((Section("", text=told),) if told else ()),
    )
    if service is None:
        return found
    per_feature = {"feature": list(service.features), "service_s_per_unit": [float(each) for each in service.estimator.coef_]}
    aside = (Section("", text=f"Set aside, service time not known: {'; '.join(service.set_aside)}."),) if service.set_aside else ()
    return (
        *found,
        Section(f"Service time from features of {count_text(service.n_groups, 'group')}", pd.DataFrame(per_feature)),
        *aside,
    )


def servers_answer(result: ServerModel) -> Answer:
    """Where the servers are full, and the error of worker counts left out."""
    full = [fit.saturation_workers for fit in result.fits]
    asked = f"{count_text(len(full), 'group')} of workers at parameter servers"
    least, most = min(full), max((each for each in full if np.isfinite(each)), default=np.inf)
    if not np.isfinite(least):
        told = "no server is ever full"
    elif least == most:
        told = f"the server is full from {number_text(least, 2)} workers on"
    else:
        told = f"the server is full from {number_text(least, 2)} to {number_text(most, 2)} workers on"
    never = sum(not np.isfinite(each) for each in full)
    if never and np.isfinite(least):
        told += f" ({count_text(never, 'group')} without a sign of it)"
    if result.errors is not None:
        told += f", worker counts left out are missed by {percent_text(result.errors.mape)} on average"
    return Answer(asked, told)


def speeds_sections(result: ServerPrediction) -> tuple[Section, ...]:
    """One row a configuration."""
    secondary = ("measured_group", "saturation_workers", "mean_staleness", "wait_s")
    return (Section("Speeds", result.to_frame(), secondary=secondary),)
