"""Which runs a model is trained on and which it is asked about: networks left out, more nodes, one network for the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

FEW_NODES, MORE_NODES = (1, 2), (4,)
LEFT_OUT, KERNELS, NODES, ONE = "network left out", "network left out, kernels known", "more nodes", "one network"
"""Protocols. `KERNELS`: the step of the left-out network follows from kernels of further networks; else from runs alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """One training and what it is judged on.

    Attributes
    ----------
    protocol, machine, trained_on : str
        Kind of split; mode and network of the runs; what was trained on, in words.
    train, test : DataFrame
        Rows of `mlperf.datasets.campaigns.trainer_runs.TrainerRuns.table`.
    """

    protocol: str
    machine: str
    trained_on: str
    train: pd.DataFrame
    test: pd.DataFrame

    @property
    def key(self) -> dict[str, str]:
        """What names the split in a table."""
        return {"protocol": self.protocol, "machine": self.machine, "trained_on": self.trained_on}


def splits(table: pd.DataFrame, *, kernels: bool, one: str | None = None) -> Iterator[Split]:
    """Every split that runs allow, machine by machine.

    Parameters
    ----------
    table : DataFrame
        Runs, all waits emulated.
    kernels : bool
        Whether kernels of further networks were measured.
    one : str, optional
        The one network to train on for the others; by default each in turn.
    """
    for machine, here in table.groupby("machine", sort=True):
        yield from left_out(str(machine), here, LEFT_OUT)
        if kernels:
            yield from left_out(str(machine), here, KERNELS)
        yield from more_nodes(str(machine), here)
        yield from others_from_one(str(machine), here, one)


def left_out(machine: str, here: pd.DataFrame, protocol: str) -> Iterator[Split]:
    """Each network from the runs of all others.

    Parameters
    ----------
    machine, protocol : str
        What the splits are called.
    here : DataFrame
        Runs of the machine.

    Yields
    ------
    Split
        By the network's name; none of a single network.
    """
    names = sorted(here["cnn"].unique())
    for name in names if len(names) > 1 else ():
        own = here["cnn"] == name
        yield Split(protocol, machine, f"all but {name}", here[~own], here[own])


def more_nodes(machine: str, here: pd.DataFrame) -> Iterator[Split]:
    """Each network on four nodes from its own runs on one and two."""
    for name, rows in here.groupby("cnn", sort=True):
        few, many = rows["n_nodes"].isin(FEW_NODES), rows["n_nodes"].isin(MORE_NODES)
        if (rows.loc[few, "n_nodes"] > 1).any() and many.any():
            yield Split(NODES, machine, str(name), rows[few], rows[many])


def others_from_one(machine: str, here: pd.DataFrame, one: str | None) -> Iterator[Split]:
    """All other networks from the runs of one."""
    names = sorted(here["cnn"].unique())
    for name in names if len(names) > 1 else ():
        own = here["cnn"] == name
        if name == one or one is None:
            yield Split(ONE, machine, name, here[own], here[~own])
