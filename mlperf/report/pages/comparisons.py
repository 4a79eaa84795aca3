"""How comparisons are shown: errors by quantity, then every row; measured against predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from mlperf.report.figures.plots import measured_predicted
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.planning.compare import Comparison

MEASURES = ("measured", "predicted", "explained", "lower", "upper")


def comparison_sections(result: Comparison) -> tuple[Section, ...]:
    """Errors of each quantity, then its rows."""
    summary = result.summary().rename(columns={"max": "max_error", "bias": "mean_error"})
    rows = [Section(quantity_title(quantity), quantity_rows(quantity, table)) for quantity, table in quantities(result)]
    return (Section("Predicted against measured", summary), *rows)


def quantities(result: Comparison) -> list[tuple[str, pd.DataFrame]]:
    """Rows of each quantity, in the table's order."""
    return [(str(name), rows) for name, rows in result.table.groupby("quantity", sort=False)]


def quantity_title(quantity: str) -> str:
    """The quantity without its unit, for a heading."""
    return quantity.removesuffix("_s").replace("_", " ")


def quantity_rows(quantity: str, table: pd.DataFrame) -> pd.DataFrame:
    """Rows of one quantity; its unit moves into the names of the columns."""
    unit = "_s" if quantity.endswith("_s") else ""
    named = {name: f"{name}{unit}" for name in MEASURES}
    return table.drop(columns="quantity").rename(columns=named).dropna(axis="columns", how="all")


def comparison_figure(result: Comparison) -> Figure:
    """Measured against predicted of the first quantity, with 95 % bars; training and unseen networks apart."""
    quantity, table = quantities(result)[0]
    groups = table["in_training"].map({True: "trained on", False: "unseen"}).tolist()
    return measured_predicted(
        table["measured"].to_numpy(float),
        table["predicted"].to_numpy(float),
        lower_s=table["lower"].to_numpy(float),
        upper_s=table["upper"].to_numpy(float),
        groups=groups,
        title="Predicted against measured",
        quantity=quantity_title(quantity),
    )
