"""`judge_trainer`: every question that campaigns of the asynchronous trainer can answer about the equations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.datasets.campaigns.trainer_runs import ALL_WAITED, SETTING, TrainerRuns, read_runs, settings_table
from mlperf.studies.trainer.component_comparison import compare_components
from mlperf.studies.trainer.errors import beside, summary, with_noise
from mlperf.studies.trainer.forms import FORMS, PREDICTING, REFINED, predicted
from mlperf.studies.trainer.gates import JUDGED, gates_table, headline_gates, ranking_gates, split_gates, wait_gates
from mlperf.studies.trainer.gradient_transfer import transfer_errors
from mlperf.studies.trainer.headline import CLOSED, headline_errors, headline_summary
from mlperf.studies.trainer.histograms import distribution_summary, distribution_table, distributions_beside, examples
from mlperf.studies.trainer.known import known_times, run_grid
from mlperf.studies.trainer.limits import TrainerLimits
from mlperf.studies.trainer.ranking import rank_windows
from mlperf.studies.trainer.result import TrainerAccuracy
from mlperf.studies.trainer.split import (
    TESTED_ON,
    TRAINED_ON,
    split_errors,
    wait_errors,
    wait_summary,
    with_qualification,
)
from mlperf.studies.trainer.stretch import stretches


def judge_trainer(
    sources: Sequence[str | Path],
    *,
    trained_on: str | None = None,
    rounds_from: str | Path | None = None,
    forms: Sequence[str] = tuple(FORMS),
    limits: TrainerLimits | None = None,
    seed: int = 0,
) -> TrainerAccuracy:
    """Judge the equations and component models by campaigns of the asynchronous trainer.

    Parameters
    ----------
    sources : sequence of str or Path
        Folders that ``mlperf collect asgd`` wrote, or bundled names; together they are one body of runs.
    trained_on : str, optional
        Network whose runs everything is fitted on; by default the one with most settings.
    rounds_from : str or Path, optional
        Campaign whose steps the waits were drawn from: shows the gradient formula on all its networks.
    forms : sequence of str
        Keys of `mlperf.studies.trainer.forms.FORMS`; those that gates are asked of always belong to them.
    limits : TrainerLimits, optional
        What to ask of errors and rankings; without them the waits alone are judged, against the paper's form.
    seed : int
        Of recursion and simulation.

    Raises
    ------
    DataError
        Not such campaigns, or no run in which every wait is emulated.
    """
    forms = tuple(dict.fromkeys(("paper", PREDICTING, JUDGED, *forms)))
    runs = read_runs(sources)
    emulated = runs.where(runs.table["mode"].str.startswith(ALL_WAITED))
    settings = with_qualification(settings_table(runs.table))
    if emulated.table.empty:
        modes = ", ".join(sorted(runs.table["mode"].unique()))
        hint = "Only they validate the equations: --wait gradient,memory,network."
        raise DataError(f"got the modes {modes}, expected runs in which every wait is emulated", hint=hint)
    cnn = trained_on or most_measured(emulated.table)
    first = emulated.where(emulated.table["machine"] == first_machine(emulated.table, cnn))
    split = split_errors(first, cnn, forms=forms, seed=seed) if can_split(first.table, cnn) else pd.DataFrame()
    closed = [form for form in forms if form in CLOSED]
    headline = headline_errors(emulated, cnn, forms=closed, seed=seed) if has_others(emulated.table, cnn) else pd.DataFrame()
    waits = wait_errors(first, cnn, forms, seed)
    waits_by_form = wait_summary(waits)
    ranked = [form for form in (PREDICTING, REFINED) if form in forms]
    rankings = tuple(each for form in ranked for each in rank_windows(emulated, cnn, form))
    observed = list(distributions_beside(first, cnn, seed, forms))
    distributions = distribution_table(observed)
    asked = limits or TrainerLimits()
    gates = [
        *split_gates(split, asked),
        *headline_gates(headline, asked),
        *ranking_gates(rankings, asked),
        *wait_gates(waits_by_form),
    ]
    return TrainerAccuracy(
        trained_on=cnn,
        modes=modes_table(settings),
        gates=gates_table(gates),
        split_summary=summary(split, ["costs", "form", "quantity"]) if len(split) else split,
        split=split,
        wait_summary=waits_by_form,
        waits=waits,
        headline_summary=headline_summary(headline) if len(headline) else headline,
        headline=headline,
        transfer=_transfer(rounds_from, cnn, settings),
        rankings=rankings,
        components=compare_components(emulated, cnn),
        distribution_summary=distribution_summary(distributions),
        distributions=distributions,
        examples=examples(observed),
        known=known_by_mode(runs, settings),
        stretches=stretches(settings),
        sha256=runs.sha256,
    )


def most_measured(table: pd.DataFrame) -> str:
    """The network with most settings; the first by name where several have."""
    return str(table.drop_duplicates(SETTING).groupby("cnn").size().idxmax())


def first_machine(table: pd.DataFrame, cnn: str) -> str:
    """The machine on which most settings of the network were run."""
    own = table[table["cnn"] == cnn]
    if own.empty:
        raise DataError(f"got no run of {cnn!r}, expected one of {', '.join(sorted(table['cnn'].unique()))}")
    return str(own.drop_duplicates(SETTING).groupby("machine").size().idxmax())


def modes_table(settings: pd.DataFrame) -> pd.DataFrame:
    """Settings, repeats and qualifying settings by machine and network."""
    grouped = settings.groupby(["machine", "cnn"], sort=True)
    return grouped.agg(
        n_settings=("n_repeats", "size"),
        n_runs=("n_repeats", "sum"),
        n_qualifying=("qualifies", "sum"),
        overshoot_share=("overshoot_share", "median"),
        cores_per_worker=("cores_per_worker", "min"),
    ).reset_index()


def known_by_mode(runs: TrainerRuns, settings: pd.DataFrame) -> pd.DataFrame:
    """Errors of the default form with each setting's own measured costs, by machine and quantity."""
    found = predicted(known_times(settings), run_grid(settings), ("paper", PREDICTING))
    table = with_noise(beside(settings, found), runs.table)
    return summary(table, ["machine", "form", "quantity"])


def _transfer(rounds_from: str | Path | None, cnn: str, settings: pd.DataFrame) -> pd.DataFrame:
    from mlperf.datasets import read_campaign

    if rounds_from is None:
        return pd.DataFrame()
    sizes = sorted(settings.loc[settings["cnn"] == cnn, "subbatch_size"].unique())
    return transfer_errors(read_campaign(rounds_from), cnn, [int(size) for size in sizes])


def can_split(table: pd.DataFrame, cnn: str) -> bool:
    """Whether the network was run on the nodes to fit on, two among them, and on those to test on."""
    nodes = set(table.loc[table["cnn"] == cnn, "n_nodes"])
    return max(TRAINED_ON) in nodes and bool(nodes & set(TESTED_ON))


def has_others(table: pd.DataFrame, cnn: str) -> bool:
    """Whether another network was run on a machine on which this one was run on several nodes."""
    machines = table.loc[(table["cnn"] == cnn) & (table["n_nodes"] > 1), "machine"].unique()
    return bool((table["machine"].isin(machines) & (table["cnn"] != cnn)).any())
