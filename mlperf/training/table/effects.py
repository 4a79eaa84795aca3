"""Partial effects: what a table's model predicts where one column varies and the others stay in the middle."""

from __future__ import annotations

import pandas as pd

from mlperf.training.table.table_model import N_QUANTILES, TableModel

MOST_COLUMNS, MOST_LEVELS = 12, 12


def partial_effects(model: TableModel, level: float = 0.95) -> pd.DataFrame:
    """Vary one column after the other over what was measured of it.

    Parameters
    ----------
    model : TableModel
        Others than the varied column stay at their median, or their most frequent label.
    level : float
        Of the interval.

    Returns
    -------
    DataFrame
        One row a column and value: ``column``, ``level`` (the label, else empty), ``value`` (the number, else NaN), ``predicted``,
        ``lower``, ``upper`` (interval of a run, in the target's unit). Empty where the file does not say what was measured.

    References
    ----------
    Friedman (2001), Greedy function approximation, section 8.2; at the median in place of the average, which needs the rows.
    """
    known = {name: values for name, values in model.profile.items() if name in model.columns}
    if set(known) != set(model.columns):
        return pd.DataFrame()
    middle = {name: values[0] if is_label(values) else values[N_QUANTILES // 2] for name, values in known.items()}
    asked = []
    for name, values in list(known.items())[:MOST_COLUMNS]:
        shown = values[:MOST_LEVELS] if is_label(values) else tuple(sorted(set(values)))
        asked += [(name, value, {**middle, name: value}) for value in shown]
    if not asked:
        return pd.DataFrame()
    rows = pd.DataFrame([row for _, _, row in asked])
    keys = pd.DataFrame({"column": [name for name, _, _ in asked], "value": [value for _, value, _ in asked]}, dtype=object)
    labels = keys["value"].map(lambda value: value if isinstance(value, str) else "")
    numbers = keys["value"].map(lambda value: float("nan") if isinstance(value, str) else value).astype(float)
    said = model.answers(rows, level)
    numbered = pd.DataFrame({"column": keys["column"], "level": labels, "value": numbers})
    return numbered.assign(predicted=said.predicted, lower=said.run.lower, upper=said.run.upper)


def is_label(values: tuple[object, ...]) -> bool:
    """Whether a column's profile holds labels."""
    return isinstance(values[0], str)
