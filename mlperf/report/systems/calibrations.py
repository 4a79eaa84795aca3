"""How calibrations are shown: errors before and after on left-out rows, factors with intervals, the rows that are missed most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.report.text.answer import Answer, count_text, share_text
from mlperf.report.text.numbers import number_text, percent_text
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from mlperf.planning.calibration.foreign import CalibratedRows, Calibration

MOST_ROWS = 40


def calibration_sections(result: Calibration) -> tuple[Section, ...]:
    """Errors by grouping, factors, rows, notes."""
    factors = result.factors
    shown = Section("Factors on the predictions", factors.head(MOST_ROWS))
    order = np.argsort(-result.rows["calibrated_error"].abs().to_numpy(float), kind="stable")
    title = "Rows" if len(order) <= MOST_ROWS else f"The {MOST_ROWS} rows that are missed most of {len(order):,}"
    keys = [name for name in map(str, result.rows) if not name.endswith(("predicted", "measured", "calibrated", "_error"))]
    rows = Section(title, result.rows.iloc[order[:MOST_ROWS]].reset_index(drop=True), secondary=tuple(keys), is_detail=True)
    told = [f"lower and upper: {100 * result.level:g} % interval of measured over predicted of one further run."]
    if len(factors) > MOST_ROWS:
        told.append(f"{len(factors) - MOST_ROWS:,} further groups: --json has all of them.")
    told += [f"- {note}" for note in result.notes]
    return (Section("Mean error of left-out rows", errors_frame(result)), shown, rows, Section("", text="\n".join(told)))


def errors_frame(result: Calibration) -> pd.DataFrame:
    """One row for no factor, one factor, and each further grouping, and which was taken."""
    names = ["none", "one for all", *(f"by {', '.join(result.by[: at + 1])}" for at in range(len(result.by)))]
    taken = [depth == result.fit.factors.depth for depth in range(-1, len(result.by) + 1)]
    return pd.DataFrame({"factor": names, "left_out_error": result.fit.error_by_depth, "taken": taken})


def calibration_answer(result: Calibration) -> Answer:
    """Mean error before and after."""
    fit = result.fit
    asked = f"{result.column}, {count_text(fit.n_rows, 'measured row')}"
    if not fit.helps:
        return Answer(asked, f"errs by {percent_text(fit.error_before)} on average and is left as it is: no factor helps")
    factor = ""
    if fit.factors.depth == 0:
        factor = f", factor {number_text(float(np.exp(fit.factors.common)))}"
    found = (
        f"errs by {percent_text(fit.error_before)} on average, by {percent_text(fit.error_after)} calibrated (rows left out)"
        f"{factor}"
    )
    return Answer(asked, found)


def calibrated_sections(result: CalibratedRows) -> tuple[Section, ...]:
    """The first rows; nothing but where they stand when they were written."""
    told = f"run: {100 * result.level:g} % interval of one measured run."
    if result.path:
        return (Section("", text=told),)
    frame = result.rows
    more = f" {len(frame) - MOST_ROWS:,} further rows: -o FILE writes all of them as CSV." if len(frame) > MOST_ROWS else ""
    return (Section("", frame.head(MOST_ROWS)), Section("", text=f"{told}{more}"))


def calibrated_answer(result: CalibratedRows) -> Answer:
    """How many rows, and how many of a group that was measured."""
    inside = result.rows["in_domain"].to_numpy(bool)
    where = f" written to {result.path}" if result.path else ""
    of_groups = share_text(int(inside.sum()), len(inside))
    return Answer(count_text(len(inside), "row"), f"{result.column} calibrated{where}, {of_groups} of a group that was measured")
