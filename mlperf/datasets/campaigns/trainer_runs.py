"""What campaigns of the asynchronous trainer hold, as one table of runs and one of histograms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown
from mlperf.datasets.dictionary.trainer_schema import TRAINER_TABLES
from mlperf.datasets.reading.folder import HOST, table_file
from mlperf.datasets.reading.read import read_table
from mlperf.systems.sprint.outputs import OUTPUTS

if TYPE_CHECKING:
    from mlperf.datasets import Campaign
    from mlperf.specs.network.cnn import CnnSpec

CONFIG = ["cnn", "n_nodes", "n_gpus_per_node", "subbatch_size"]
SETTING = ["machine", *CONFIG]
ALL_WAITED = "emulated gradient+memory+network"
"""Begins the mode of runs in which every wait is emulated: the only ones that validate the equations."""

HINT = "`mlperf collect asgd` writes it; runs whose gradients were waited for learn nothing and have no epochs."


@dataclass(frozen=True, slots=True, eq=False)
class TrainerRuns(Shown, frame="table"):
    """Runs of the asynchronous trainer.

    Attributes
    ----------
    table : DataFrame
        One row a run: ``campaign``, ``machine`` (mode and network), ``run``, the setting, the sixteen components (seconds),
        the outputs (`OUTPUTS`) and ``staleness``, and the columns of ``asgd/details.csv``.
    histograms : DataFrame
        ``campaign, run, quantity, value, count``.
    cnns : mapping
        Specifications by name.
    campaigns : tuple of Campaign
        What they were read from.
    """

    table: pd.DataFrame
    histograms: pd.DataFrame
    cnns: Mapping[str, CnnSpec]
    campaigns: tuple[Campaign, ...]

    def where(self, keep: Any) -> TrainerRuns:
        """The runs that the mask ``keep`` over the table marks, with their histograms."""
        table = self.table[keep].reset_index(drop=True)
        keys = table[["campaign", "run"]]
        return TrainerRuns(table, self.histograms.merge(keys, on=["campaign", "run"]), self.cnns, self.campaigns)

    def campaigns_of(self, runs: pd.DataFrame) -> list[Campaign]:
        """The campaigns as if these rows of ``table`` were all that had been run; those without a row are left out."""
        chosen = {str(name): part for name, part in runs.groupby("campaign")}
        return [only_runs(campaign, chosen[campaign.name]) for campaign in self.campaigns if campaign.name in chosen]


def only_runs(campaign: Campaign, runs: pd.DataFrame) -> Campaign:
    """A campaign as if these rows of runs.csv (``run``, ``cnn``) were all that had been run."""
    kept: dict[str, Any] = {
        name: table[table["run"].isin(runs["run"])].reset_index(drop=True)
        for name in ("components", "runs", "details")
        if (table := campaign.tables.get(name)) is not None
    }
    return replace(campaign, cnns={name: campaign.cnns[name] for name in sorted(runs["cnn"].unique())}, **kept)


def median_runs(campaign: Campaign) -> Campaign:
    """A campaign with one run of each setting, that of the median T_Update; of an even number the lower of the two in the middle.

    The training rule of the SPRINT paper; components are means over the threads of a run as they are.

    Raises
    ------
    DataError
        The campaign has no ``runs.csv``.
    """
    ranked = campaign.table("runs").sort_values(["update_iteration_s", "run"])
    settings = ranked.groupby(CONFIG, sort=False)
    return only_runs(campaign, ranked[settings.cumcount() == (settings["run"].transform("size") - 1) // 2])


def read_runs(sources: Sequence[str | Path]) -> TrainerRuns:
    """Read campaigns that ``mlperf collect asgd`` wrote: folders or bundled names.

    Raises
    ------
    DataError
        A campaign has no runs or no ``asgd/details.csv``, or two name different networks alike.
    """
    from mlperf.datasets import read_campaign

    campaigns = [read_campaign(source) for source in sources]
    cnns: dict[str, CnnSpec] = {}
    for campaign in campaigns:
        for name, cnn in campaign.cnns.items():
            if cnns.setdefault(name, cnn) != cnn:
                raise DataError(f"got two different networks called {name!r}", place=str(campaign.path), hint="Rename one of them.")
    return TrainerRuns(
        pd.concat([_runs_of(campaign) for campaign in campaigns], ignore_index=True),
        pd.concat(
            [trainer_table(campaign, "histograms").assign(campaign=campaign.name) for campaign in campaigns], ignore_index=True
        ),
        cnns,
        tuple(campaigns),
    )


def _runs_of(campaign: Campaign) -> pd.DataFrame:
    components, runs, details = (campaign.runs_of(name) for name in ("components", "runs", "details"))
    added = [name for name in runs.columns if name == "run" or name not in components.columns]
    explained = [name for name in details.columns if name == "run" or name not in {*components.columns, *runs.columns}]
    table: pd.DataFrame = components.merge(runs[added], on="run", validate="one_to_one").merge(details[explained], on="run")
    table.insert(0, "campaign", campaign.name)
    table.insert(1, "machine", [f"{mode}{_network(campaign, mode)}" for mode in table["mode"]])
    return table


def _network(campaign: Campaign, mode: str) -> str:
    """The network that was waited for, where one was: it is part of the emulated machine."""
    network = campaign.told("protocol", "asgd", "network")
    if "network" not in mode or not network:
        return ""
    exchange = f", {network['exchange']}" if "exchange" in network else ""
    bytes_per_s = Fields(network, f"{campaign.path / HOST}: $.protocol.asgd.network").number("bytes_per_s", lower=0.0)
    return f", {bytes_per_s:g} B/s{exchange}"


def trainer_table(campaign: Campaign, name: str) -> pd.DataFrame:
    """A table that the trainer writes beside those of the campaign: ``"histograms"`` or ``"epochs"``.

    Raises
    ------
    DataError
        The campaign has no such table, or a cell of it is wrong (see ``read_table``).
    """
    schema = TRAINER_TABLES[name]
    file = table_file(campaign.path, schema.stem)
    if file is None:
        raise DataError(f"got no {schema.stem}.csv, expected one", place=str(campaign.path), hint=HINT)
    return read_table(file, schema, "keep")


def settings_table(table: pd.DataFrame) -> pd.DataFrame:
    """Means over the repeats of each setting, in the order of nodes, GPUs and sub-batch.

    Returns
    -------
    DataFrame
        One row a setting: `SETTING`, the means of every numeric column, ``n_repeats``.
    """
    numeric = [name for name in table.select_dtypes("number").columns if name not in {*SETTING, "run"}]
    grouped = table.groupby(SETTING, sort=True)
    return grouped[numeric].mean().assign(n_repeats=grouped.size()).reset_index()


def repeat_differences(table: pd.DataFrame, names: Sequence[str] = OUTPUTS) -> pd.DataFrame:
    """Mean relative difference between two repeats of each setting, over all pairs of repeats.

    Returns
    -------
    DataFrame
        One row a setting: `SETTING` and each of ``names`` as a fraction; NaN with one repeat.
    """
    rows = []
    for key, repeats in table.groupby(SETTING, sort=True):
        row: dict[str, Any] = dict(zip(SETTING, key if isinstance(key, tuple) else (key,), strict=True))
        for name in names:
            values = repeats[name].to_numpy(float)
            pairs = [abs(a - b) for number, a in enumerate(values) for b in values[number + 1 :]]
            row[name] = sum(pairs) / len(pairs) / values.mean() if pairs else float("nan")
        rows.append(row)
    return pd.DataFrame(rows)
