"""Rows on which the components of Tables 3 and 4 are fitted, from a campaign's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from mlperf.features.network.components import component_columns, operation_columns
from mlperf.specs.network.cnn import CnnSpec
from mlperf.systems.sprint.components import BY_NAME, FITTED, Component
from mlperf.training.gradient.gradient_data import CLOCK

if TYPE_CHECKING:
    from mlperf.datasets import Campaign


def run_rows(campaigns: Sequence[Campaign], leave_out: Sequence[str] = ()) -> dict[str, pd.DataFrame]:
    """Measured rows of every fitted component that asynchronous runs hold; networks of ``leave_out`` are not looked at.

    Returns
    -------
    dict of DataFrame
        By component name: the inputs of its terms, ``group`` (rows that belong in one fold) and ``time_s``, seconds > 0.
    """
    components = pd.concat([campaign.table("components") for campaign in campaigns], ignore_index=True)
    kept = components[~components["cnn"].isin(list(leave_out))].reset_index(drop=True)
    return asynchronous_rows(kept, {name: cnn for campaign in campaigns for name, cnn in campaign.cnns.items()})


def operation_rows(updates: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The same of memory operations that were measured alone (``updates.csv``)."""
    rows = {}
    for operation, part in updates.groupby("operation", sort=True):
        if str(operation) not in BY_NAME:
            continue
        keys = ["n_params"] if (part["n_params"] > 0).all() else ["subbatch_size", "input_size"]
        repeats = part[[*keys, CLOCK]].rename(columns={CLOCK: "time_s"}).reset_index(drop=True)
        rows[str(operation)] = operation_columns(repeats).assign(group=repeats[keys].astype(str).agg(" x ".join, axis=1))
    return rows


def asynchronous_rows(components: pd.DataFrame, cnns: Mapping[str, CnnSpec]) -> dict[str, pd.DataFrame]:
    """Rows of every fitted component that asynchronous runs hold; ``components`` has the columns of components.csv."""
    keys = ["cnn", "n_nodes", "n_gpus_per_node", "subbatch_size"]
    inputs = component_columns(components, cnns).assign(group=components[keys].astype(str).agg(" x ".join, axis=1))
    rows = {}
    for component in FITTED:
        if component.name == "compute_gradient" or component.column not in components:
            continue
        table = inputs.rename(columns={component.column: "time_s"})
        rows[component.name] = table[_fittable(component, table)].reset_index(drop=True)
    return {name: table for name, table in rows.items() if len(table)}


def _fittable(component: Component, table: pd.DataFrame) -> pd.Series:
    # One node has no all-reduce: its zero is right and teaches nothing about the cost between nodes.
    return table["n_nodes"] > 1 if component.kind == "collective" else table["time_s"] > 0
