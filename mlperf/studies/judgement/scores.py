"""How far answers are from runs: errors in which networks weigh alike, coverage of every run by itself, noise of repeats."""

from __future__ import annotations

import pandas as pd

from mlperf.datasets.campaigns.trainer_runs import repeat_differences
from mlperf.studies.trainer.predictions import MODEL
from mlperf.studies.trainer.protocols import NODES, ONE
from mlperf.studies.trainer.scores import EVERY
from mlperf.systems.sprint.outputs import OUTPUTS

PART = ["protocol", "machine", "trained_on", "cnn", "method", "quantity"]
ANSWER = ["protocol", "machine", "method", "quantity"]
INTERVAL = ["protocol", "machine", "nodes", "quantity"]


def network_errors(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and largest error of the settings of each network.

    Parameters
    ----------
    rows : DataFrame
        Of `mlperf.studies.judgement.answers.answer_rows`.

    Returns
    -------
    DataFrame
        `PART`, ``error``, ``max_error``: fractions.
    """
    error = rows.assign(error=rows["relative_error"].abs()).groupby(PART, sort=False)["error"]
    return error.agg(error="mean", max_error="max").reset_index()


def error_table(networks: pd.DataFrame) -> pd.DataFrame:
    """Errors of every split, machine by machine and of all machines.

    Networks weigh alike. Of *one network* it is the median over the networks fitted on, of the mean over the others (and, for all
    machines, over the machines).

    Returns
    -------
    DataFrame
        `ANSWER` (``machine``: a name, or ``all``), ``error`` and ``max_error`` of a setting, fractions.
    """
    every = pd.concat([networks, networks.assign(machine=EVERY)], ignore_index=True)
    # The network left out is named by what was fitted: without it the fit, not its question, would be averaged first.
    fitted_on = every["trained_on"].where(every["protocol"] == ONE, "")
    grouped = every.assign(trained_on=fitted_on).groupby([*ANSWER, "trained_on"], sort=False)
    trainings = grouped.agg(error=("error", "mean"), max_error=("max_error", "max")).reset_index()
    return trainings.groupby(ANSWER, sort=False).agg(error=("error", "median"), max_error=("max_error", "max")).reset_index()


def interval_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Coverage and width of the 95 % intervals by number of nodes, each machine by itself and all together.

    Returns
    -------
    DataFrame
        `INTERVAL` (``machine`` and ``nodes``: as text, or ``all``), ``n_runs``, ``coverage`` (every run by itself), mean
        ``half_width`` over the prediction and ``mean_error`` of the settings there; fractions.
    """
    own = rows[rows["method"] == MODEL]
    own = own.assign(
        nodes=own["n_nodes"].astype(str),
        n_inside=own["inside"] * own["n_repeats"],
        half_width=0.5 * (own["upper"] - own["lower"]) / own["predicted"],
        error=own["relative_error"].abs(),
    )
    by_nodes = pd.concat([own, own.assign(nodes=EVERY)], ignore_index=True)
    every = pd.concat([by_nodes, by_nodes.assign(machine=EVERY)], ignore_index=True)
    found = (
        every.groupby(INTERVAL, sort=False)
        .agg(
            n_runs=("n_repeats", "sum"),
            n_inside=("n_inside", "sum"),
            half_width=("half_width", "mean"),
            mean_error=("error", "mean"),
        )
        .reset_index()
    )
    return found.assign(coverage=found["n_inside"] / found["n_runs"]).drop(columns="n_inside")


def repeat_noise(table: pd.DataFrame) -> dict[str, float]:
    """Twice the mean relative difference of two runs of a setting, over all settings that were run twice.

    Parameters
    ----------
    table : DataFrame, shape (n_runs, ...)
        The columns of `CONFIG` and the outputs.

    Returns
    -------
    dict of str to float
        By output, fractions.
    """
    differences = 2.0 * repeat_differences(table)[list(OUTPUTS)].mean()
    return {name: float(differences[name]) for name in OUTPUTS}


def asked_errors(errors: pd.DataFrame) -> pd.DataFrame:
    """The rows that limits hold for: all machines together, but of *more nodes* each by itself.

    Parameters
    ----------
    errors : DataFrame
        Of `error_table`.

    Returns
    -------
    DataFrame
        Its rows of the model.
    """
    own = errors[errors["method"] == MODEL]
    alone = own["protocol"] == NODES
    return own[alone != (own["machine"] == EVERY)].reset_index(drop=True)
