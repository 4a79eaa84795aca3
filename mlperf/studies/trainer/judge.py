"""`judge_trainer`: what `mlperf train` and `mlperf predict` say of runs of the asynchronous trainer that they have not seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.core.progress import tracked
from mlperf.datasets.campaigns.trainer_runs import ALL_WAITED, SETTING, TrainerRuns, read_runs, repeat_differences
from mlperf.studies.trainer.equations import CLOSED, equation_errors
from mlperf.studies.trainer.gates import NEARER, PAPERS, gates_table, ranking_gates, score_gates, wait_gates
from mlperf.studies.trainer.histograms import compare_histograms, distribution_table, examples
from mlperf.studies.trainer.limits import TrainerLimits
from mlperf.studies.trainer.predictions import split_rows, train_split
from mlperf.studies.trainer.protocols import KERNELS, LEFT_OUT, splits
from mlperf.studies.trainer.ranking import rank_windows
from mlperf.studies.trainer.result import TrainerAccuracy
from mlperf.studies.trainer.scores import score_table
from mlperf.training.model import Model
from mlperf.training.training import train_campaign


def judge_trainer(
    sources: Sequence[str | Path],
    *,
    trained_on: str | None = None,
    rounds_from: str | Path | None = None,
    forms: Sequence[str] = CLOSED,
    limits: TrainerLimits | None = None,
    seed: int = 0,
    jobs: int = 1,
) -> TrainerAccuracy:
    """Judge the predictor by campaigns of the asynchronous trainer.

    Parameters
    ----------
    sources : sequence of str or Path
        Folders that ``mlperf collect asgd`` wrote, or bundled names; together they are one body of runs.
    trained_on : str, optional
        The one network to train on for all others; by default each in turn.
    rounds_from : str or Path, optional
        Campaign of kernels; a model of it, trained without the networks that were run, gives the step of a network left out.
    forms : sequence of str
        Of `mlperf.studies.trainer.equations.EVERY_FORM`, for the equations alone; those that gates are asked of always belong.
    limits : TrainerLimits, optional
        What to ask of errors, intervals and choices; without them the waits alone are judged, against the paper's form.
    seed, jobs : int
        Of recursion, simulation and the kernels' model; its workers.

    Raises
    ------
    DataError
        Not such campaigns, no run in which every wait is emulated, or none that leaves something to predict.
    """
    runs = read_runs(sources)
    emulated = runs.where(runs.table["mode"].str.startswith(ALL_WAITED))
    if emulated.table.empty:
        modes = ", ".join(sorted(runs.table["mode"].unique()))
        hint = "Only they validate the equations: --wait gradient,memory,network."
        raise DataError(f"got the modes {modes}, expected runs in which every wait is emulated", hint=hint)
    if trained_on is not None and trained_on not in set(emulated.table["cnn"]):
        raise DataError(f"got no run of {trained_on!r}, expected one of {', '.join(sorted(emulated.table['cnn'].unique()))}")
    kernels = None if rounds_from is None else kernel_model(rounds_from, emulated.table["cnn"].unique(), seed, jobs)
    parts, histograms = [], []
    # Each network is left out twice: the second time its step alone is told by kernels.
    alone: dict[tuple[str, str], Model] = {}
    for split in tracked(list(splits(emulated.table, kernels=kernels is not None, one=trained_on)), "trainings judged"):
        known, place = kernels if split.protocol == KERNELS else None, (split.machine, split.trained_on)
        model = train_split(split, emulated, known, like=alone.get(place))
        if split.protocol == LEFT_OUT:
            alone[place] = model
        parts.append(split_rows(split, model, emulated.cnns))
        if split.protocol == (LEFT_OUT if kernels is None else KERNELS):
            histograms.append(tuple(compare_histograms(split, model, emulated)))
    if not parts:
        raise DataError("got runs of one network on as many nodes, expected a second network, or four nodes beside one and two")
    rows = pd.concat(parts, ignore_index=True)
    scores, windows = score_table(rows), rank_windows(rows, noise_of_repeats(emulated.table))
    equations = equation_errors(runs.table, tuple(dict.fromkeys((PAPERS, NEARER, *forms))), seed)
    asked = limits or TrainerLimits()
    gates = chain(score_gates(scores, asked), ranking_gates(windows, asked), wait_gates(equations))
    return TrainerAccuracy(
        measured=measured_table(runs),
        gates=gates_table(gates),
        scores=scores,
        rows=rows,
        windows=windows,
        equations=equations,
        distributions=distribution_table([each for part in histograms for each in part]),
        examples=examples(max(histograms, key=len, default=())),
        sha256={campaign.name: campaign.sha256 for campaign in runs.campaigns},
    )


def kernel_model(source: str | Path, names: Iterable[str], seed: int, jobs: int) -> Model:
    """A model of a campaign's kernels that has seen none of these networks.

    Parameters
    ----------
    source : str or Path
        Campaign, by bundled name or folder.
    names : iterable of str
        Networks to leave out; those that the campaign does not have are no error.
    seed, jobs : int
        As of `mlperf.training.training.train_campaign`.
    """
    from mlperf.datasets import read_campaign

    campaign = read_campaign(source)
    known = [name for name in names if name in campaign.cnns]
    return train_campaign(campaign, leave_out=known, seed=seed, jobs=jobs, scored=False)


def noise_of_repeats(table: pd.DataFrame) -> pd.DataFrame:
    """``machine, cnn, noise``: twice the mean relative difference of epoch times between repeats."""
    return (2.0 * repeat_differences(table).groupby(["machine", "cnn"])["epoch_s"].mean()).rename("noise").reset_index()


def measured_table(runs: TrainerRuns) -> pd.DataFrame:
    """Settings and repeats by machine and network, and how inexact the waits were.

    Parameters
    ----------
    runs : TrainerRuns
        With the details of every run.

    Returns
    -------
    DataFrame
        ``machine, cnn, n_runs``, ``overshoot_share`` (median, of the shortest wait), least ``cores_per_worker``, ``n_settings``.
    """
    grouped = runs.table.groupby(["machine", "cnn"], sort=True)
    n_settings = runs.table.drop_duplicates(SETTING).groupby(["machine", "cnn"]).size()
    return (
        grouped.agg(
            n_runs=("run", "size"), overshoot_share=("overshoot_share", "median"), cores_per_worker=("cores_per_worker", "min")
        )
        .assign(n_settings=n_settings)
        .reset_index()
    )
