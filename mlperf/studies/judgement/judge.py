"""`judge_runs`: what `mlperf train` and `mlperf predict` say of the runs of a judgement, split by split."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from joblib import Parallel, delayed

from mlperf.core.children import tied
from mlperf.datasets.campaigns.campaign import Campaign, read_campaign
from mlperf.datasets.campaigns.trainer_runs import TrainerRuns
from mlperf.studies.judgement.answers import answer_rows
from mlperf.studies.judgement.plan import ROUNDS_FROM, TIME_SCALE
from mlperf.studies.judgement.result import Judgement
from mlperf.studies.judgement.scores import error_table, interval_table, network_errors, repeat_noise
from mlperf.studies.judgement.seen import judged_splits, kernels_without
from mlperf.studies.judgement.verdict import verdict_table
from mlperf.studies.judgement.windows import pair_table, window_table
from mlperf.studies.trainer.limits import TrainerLimits
from mlperf.studies.trainer.predictions import MODEL
from mlperf.studies.trainer.protocols import LEFT_OUT, NODES, Split
from mlperf.training.training import train_campaign


def judge_runs(
    runs: TrainerRuns,
    limits: TrainerLimits,
    *,
    kernels: Campaign | str = ROUNDS_FROM,
    time_scale: float = TIME_SCALE,
    jobs: int = 1,
) -> Judgement:
    """Train and predict in every split, and hold what comes out to the limits.

    Parameters
    ----------
    runs : TrainerRuns
        Of `mlperf.studies.judgement.runs.read_judgement`: every machine with the same networks, on 1, 2 and 4 nodes.
    limits : TrainerLimits
        What is asked.
    kernels : Campaign or str
        Whose kernels and steps are known of networks that are not left out.
    time_scale : float
        How many times as long they take on the machines of the runs.
    jobs : int
        Parallel workers; no figure depends on it.

    Raises
    ------
    DataError, FitError
        As training and prediction do.
    """
    measured = read_campaign(kernels) if isinstance(kernels, str) else kernels
    every = list(judged_splits(runs.table))
    names = sorted(runs.table["cnn"].unique())
    # The longest come first, so that no worker is left with one at the end: those that fit kernels.
    by_network = [[split for split in every if is_without(split, name)] for name in names]
    others = [[split] for split in every if split.protocol != LEFT_OUT]
    seen = [kernels_without(measured, name, time_scale) for name in names]
    tasks = [*zip(by_network, seen, strict=True), *((splits, None) for splits in others)]
    found = Parallel(n_jobs=jobs)(delayed(tied(judge_splits))(splits, runs, campaign) for splits, campaign in tasks)
    return judgement_of(runs, pd.concat(found, ignore_index=True), limits)


def is_without(split: Split, cnn: str) -> bool:
    """Whether the split leaves this network out."""
    return split.protocol == LEFT_OUT and set(split.test["cnn"]) == {cnn}


def judge_splits(splits: Sequence[Split], runs: TrainerRuns, seen: Campaign | None) -> pd.DataFrame:
    """Answers of some splits, which share their kernels.

    Parameters
    ----------
    splits : sequence of Split
        Trained and asked one after the other.
    runs : TrainerRuns
        Where their rows come from.
    seen : Campaign or None
        Kernels that all of them know; None: steps follow from runs.

    Returns
    -------
    DataFrame
        The rows of `mlperf.studies.judgement.answers.answer_rows`, split after split.
    """
    kernels = None if seen is None else train_campaign(seen)
    return pd.concat([answer_rows(split, runs, kernels) for split in splits], ignore_index=True)


def judgement_of(runs: TrainerRuns, rows: pd.DataFrame, limits: TrainerLimits) -> Judgement:
    """Scores, choices and verdict of all answers.

    Parameters
    ----------
    runs : TrainerRuns
        What was measured.
    rows : DataFrame
        Every answer (see `mlperf.studies.judgement.answers.answer_rows`).
    limits : TrainerLimits
        What is asked.
    """
    networks, intervals, noise = network_errors(rows), interval_table(rows), repeat_noise(runs.table)
    errors, windows = error_table(networks), window_table(rows, noise)
    more = rows[(rows["protocol"] == NODES) & (rows["method"] == MODEL)].groupby("machine")["exchange_told"].all()
    return Judgement(
        gates=verdict_table(errors, intervals, windows, {str(name): not told for name, told in more.items()}, limits),
        runs=runs.table,
        rows=rows,
        networks=networks,
        errors=errors,
        intervals=intervals,
        noise=noise,
        windows=windows,
        pairs=pair_table(rows, noise),
        sha256={campaign.name: campaign.sha256 for campaign in runs.campaigns},
    )
