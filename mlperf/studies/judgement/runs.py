"""The runs of a judgement as they were published: one campaign for each machine, every run that was planned and no other."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd

from mlperf.collect.trainer.request import IMAGENET_SIZE
from mlperf.core.errors import DataError
from mlperf.datasets.campaigns.bundled import HOME
from mlperf.datasets.campaigns.trainer_runs import CONFIG, TrainerRuns, read_runs
from mlperf.studies.judgement.plan import JudgementPlan

NAMED = "judgement-"
DIGITS = 8
"""Of the hash in the name of a bundled judgement's folder."""

HINT = "`python docs/make_judgement.py run COMMIT FOLDER` goes on where it was stopped."


def bundled_judgements() -> tuple[Path, ...]:
    """Folders of the judgements that ship with the package, each with a campaign for every machine."""
    return tuple(sorted(folder for folder in HOME.glob(f"{NAMED}*") if folder.is_dir()))


def judgement_folder(commit: str) -> Path:
    """Where the runs of a commit are bundled, whether they are there or not."""
    return HOME / f"{NAMED}{commit[:DIGITS]}"


def read_judgement(plan: JudgementPlan, folder: Path | str) -> TrainerRuns:
    """Read the runs of a plan.

    Parameters
    ----------
    plan : JudgementPlan
        What was to be run.
    folder : Path or str
        Holds a campaign for every machine, in a folder of its name.

    Returns
    -------
    TrainerRuns
        Its ``machine`` is the plan's name of it, its ``table`` has the ``dataset_size`` of an epoch.

    Raises
    ------
    DataError
        A campaign cannot be read; a planned run is missing, there is one more, or one is of another length; a campaign is of
        another network than the plan's.
    """
    runs = read_runs([Path(folder) / machine.exchange for machine in plan.machines])
    runs.table["machine"] = runs.table["campaign"]
    runs.table["dataset_size"] = IMAGENET_SIZE
    for machine, campaign in zip(plan.machines, runs.campaigns, strict=True):
        told = campaign.told("protocol", "asgd", "network")
        wanted = {"bytes_per_s": machine.bytes_per_s, "latency_s": machine.latency_s, "exchange": machine.exchange}
        if told != wanted:
            raise DataError(f"got the network {told}, expected {wanted}", place=str(campaign.path), hint=HINT)
    check_runs(plan, runs.table, str(folder))
    return runs


def check_runs(plan: JudgementPlan, table: pd.DataFrame, place: str) -> None:
    """Compare the runs that were made with those that were planned.

    Parameters
    ----------
    plan : JudgementPlan
        What was to be run.
    table : DataFrame
        One row a run: ``machine``, the columns of `CONFIG`, ``n_updates``.
    place : str
        What an error names.

    Raises
    ------
    DataError
        Names the first run that is planned and missing, or there and not planned.
    """
    columns = ["machine", *CONFIG, "n_updates"]
    planned = Counter(plan.to_frame()[columns].itertuples(index=False, name=None))
    found = Counter(table[columns].itertuples(index=False, name=None))
    for name, more, less in (("no", planned, found), ("one more", found, planned)):
        if left := more - less:
            machine, cnn, n_nodes, n_gpus, subbatch, n_updates = next(iter(left))
            run = f"{cnn} on {machine}, {n_nodes} x {n_gpus}, {subbatch}, {n_updates} updates"
            raise DataError(
                f"got {name} run of {run}, expected {planned[next(iter(left))]} ({left.total()} such runs)", place=place, hint=HINT
            )
