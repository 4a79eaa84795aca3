"""A table's model in plain sentences: how far it errs, where to believe it, what to try where it errs much."""

from __future__ import annotations

import numpy as np

from mlperf.core.printable import printable
from mlperf.training.table.columns import BESIDE, UNREAD
from mlperf.training.table.disguise import EXACT, SEEMS
from mlperf.training.table.table_model import SIGNED, TableModel

POOR = 0.3
NEAR_FLOOR = 1.2
MOST_COLUMNS = 6
WHOLE = 1e9
"""Whole numbers below are told as they are: who asks for the largest must not find it outside."""


def verdict(model: TableModel) -> str:
    """What to tell somebody who asks only how good the model is.

    Parameters
    ----------
    model : TableModel

    Returns
    -------
    str
        Sentences on the error of rows left out, on the range of each column, and on what to try above an error of 30 %.
    """
    told = (unread_sentence(model), disguise_sentence(model), error_sentence(model), range_sentence(model), advice(model))
    return " ".join(sentence for sentence in told if sentence)


def unread_sentence(model: TableModel) -> str:
    """Columns of sizes that were set aside for how they are written, which may decide the error; else nothing."""
    unread = [f"column {item.name} {item.reason}" for item in model.set_aside if item.reason.startswith(UNREAD)]
    return f"Mind: {printable('; '.join(unread))}." if unread else ""


def disguise_sentence(model: TableModel) -> str:
    """A warning where a column seems to be the target itself, so that the error says nothing of new rows; else nothing."""
    named = [note for note in model.notes if SEEMS in note]
    if named:
        return f"Careful: {printable('; '.join(named))}. Without such columns the error tells how well new rows are predicted."
    if model.errors is not None and model.errors.errors.mape < EXACT:
        return (
            f"Careful: an error below 0.1 % is rarer than a good clock. Unless the table was computed, a column {SEEMS} "
            f"(read are {printable(', '.join(model.columns))}): remove it if it was measured with {printable(model.target)}."
        )
    return ""


def error_sentence(model: TableModel) -> str:
    """Median error and the error that nine of ten stay below, of rows left out."""
    if model.errors is None and SIGNED in model.reason:
        return f"How far {model.target} of a new row is missed is not told in percent: {SIGNED}."
    if model.errors is None:
        return f"How far {model.target} of a new row is missed is not known: nothing could be left out."
    if model.left_out.empty:
        return f"On rows that it had not seen, {model.target} is missed by {model.errors.errors.mape:.1%} on average."
    error = np.abs(model.left_out["predicted"] / model.left_out["measured"] - 1.0)
    what = f"groups of {model.groups}" if model.groups else "rows"
    return (
        f"{model.target} of {what} that it had not seen is typically missed by {np.median(error):.1%}, "
        f"nine of ten by less than {np.quantile(error, 0.9):.1%}."
    )


def range_sentence(model: TableModel) -> str:
    """Between which values of its columns the model was measured."""
    ranges = [
        f"{name} {range_text(float(values[0]), float(values[-1]))}"
        for name, values in model.profile.items()
        if not isinstance(values[0], str)
    ]
    levels = [
        f"{name} {', '.join(values[:3])}{' ...' if len(values) > 3 else ''}"
        for name, values in model.profile.items()
        if isinstance(values[0], str)
    ]
    told = [printable(words) for words in (*ranges, *levels)]
    if not told:
        return ""
    more = f" and {len(told) - MOST_COLUMNS} further columns as measured" if len(told) > MOST_COLUMNS else ""
    return f"Believe it for {'; '.join(told[:MOST_COLUMNS])}{more}; rows elsewhere are flagged."


def range_text(lower: float, upper: float) -> str:
    """``"8 to 370728"``: whole numbers as they are, others in four digits, or as many as tell the ends apart."""
    for digits in (4, 9, 17):
        ends = [f"{end:.0f}" if end == round(end) and abs(end) < WHOLE else f"{end:.{digits}g}" for end in (lower, upper)]
        if ends[0] != ends[1] or lower == upper:
            break
    return f"{ends[0]} to {ends[1]}"


def advice(model: TableModel) -> str:
    """What to try where the error is large; that nothing is left where it is barely above the noise of repeats; else nothing."""
    if model.errors is None and SIGNED in model.reason:
        return ""
    if model.errors is None:
        return "Measure at least three different configurations."
    error = model.errors.errors.mape
    # Repeats that scatter by more than the model errs are none: something in no column tells such rows apart.
    if model.noise_floor <= error <= NEAR_FLOOR * model.noise_floor:
        return f"Repeats of one row scatter: the true model would miss by {model.noise_floor:.1%}, so nothing is left to find."
    equal = error < model.noise_floor <= NEAR_FLOOR * error
    scatter = f"Repeats of one row scatter by as much ({model.noise_floor:.1%})." if equal else ""
    if error <= POOR:
        return scatter
    beside = [item.name for item in model.set_aside if item.reason == BESIDE]
    unasked = f"Name what the measurements have themselves ({printable(', '.join(beside))}) in --terms. " if beside else ""
    return f"{scatter} " * equal + (
        f"That is much. {unasked}Try the cost that you know (--terms 'm*n*k, m*n'), a column that tells the rows apart and is "
        "missing, one model for each device or kind of row, or more rows; --groups leaves out what a new row will be new in."
    )
