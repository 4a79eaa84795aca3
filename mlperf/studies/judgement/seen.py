"""What the predictor sees: the rows that a split allows, and kernels of a campaign as a machine so many times slower."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pandas as pd

from mlperf.datasets.campaigns.campaign import Campaign
from mlperf.datasets.dictionary.schema import TABLES
from mlperf.studies.trainer.protocols import FEW_NODES, LEFT_OUT, MORE_NODES, NODES, Split, left_out, others_from_one

KERNEL_TABLES = ("sgemm", "kernels", "steps")
EVERY_NETWORK = "all networks"


def judged_splits(table: pd.DataFrame) -> Iterator[Split]:
    """Every split of runs, machine by machine: each network left out, four nodes from fewer, all others from each network.

    Parameters
    ----------
    table : DataFrame, shape (n_runs, ...)
        ``machine``, ``cnn``, ``n_nodes`` and what the runs gave.

    Yields
    ------
    Split
        With rows of ``table``.
    """
    for name, here in table.groupby("machine", sort=False):
        machine = str(name)
        yield from left_out(machine, here, LEFT_OUT)
        few, many = here["n_nodes"].isin(FEW_NODES), here["n_nodes"].isin(MORE_NODES)
        yield Split(NODES, machine, EVERY_NETWORK, here[few], here[many])
        yield from others_from_one(machine, here, None)


def kernels_without(campaign: Campaign, cnn: str, time_scale: float) -> Campaign:
    """Kernels and steps of a campaign without one network, all seconds so many times as long; nothing else of it.

    Products that were measured alone belong to no network and stay: every method of kernel times reads them.

    Parameters
    ----------
    campaign : Campaign
        What was measured.
    cnn : str
        Name of the network, known to the campaign or not.
    time_scale : float
        Factor on every column of seconds, > 0.
    """
    kept: dict[str, Any] = {
        name: None if name not in KERNEL_TABLES else slower(campaign, name, cnn, time_scale) for name in campaign.tables
    }
    return replace(campaign, cnns={name: spec for name, spec in campaign.cnns.items() if name != cnn}, **kept)


def slower(campaign: Campaign, name: str, cnn: str, time_scale: float) -> pd.DataFrame:
    """A table without the rows of one network and with longer times."""
    table = campaign.tables[name]
    rows = table[table["cnn"] != cnn].reset_index(drop=True) if "cnn" in table else table
    seconds = [column.name for column in TABLES[name].columns if column.unit == "s" and column.name in table]
    return rows.assign(**{column: time_scale * rows[column] for column in seconds})
