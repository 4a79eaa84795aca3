"""Fitted on few nodes, tested on more: the equations of SPRINT on a real asynchronous trainer."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.datasets.campaigns.trainer_runs import ALL_WAITED, TrainerRuns, settings_table
from mlperf.studies.trainer.costs import Costs, fit_costs
from mlperf.studies.trainer.errors import beside, with_noise
from mlperf.studies.trainer.forms import FORMS, predicted
from mlperf.studies.trainer.known import known_times, run_grid
from mlperf.systems.base.times import WAITS_S
from mlperf.systems.sprint.outputs import OUTPUTS

TRAINED_ON, TESTED_ON = (1, 2), (4,)
LARGEST_OVERSHOOT = 0.05
"""Settings qualify when their waits are inexact by less than this share of the shortest wait."""

ALL_FORMS = tuple(FORMS)


def with_qualification(settings: pd.DataFrame) -> pd.DataFrame:
    """Add ``qualifies``: whether the setting's waits were exact enough to validate equations."""
    waited = settings["machine"].str.startswith(ALL_WAITED)
    return settings.assign(qualifies=waited & (settings["overshoot_share"] < LARGEST_OVERSHOOT))


def split_errors(
    runs: TrainerRuns,
    cnn: str,
    *,
    trained_on: Sequence[int] = TRAINED_ON,
    tested_on: Sequence[int] = TESTED_ON,
    forms: Sequence[str] = ALL_FORMS,
    seed: int = 0,
) -> pd.DataFrame:
    """Fit the costs of one network on its runs on few nodes and predict those on more.

    Returns
    -------
    DataFrame
        One row a (costs, form, setting, quantity): ``costs`` is ``fitted`` (on ``trained_on``, tested on ``tested_on``) or
        ``known`` (the setting's own measured components; all settings), with `errors.beside`'s columns and ``repeat_difference``.

    Raises
    ------
    DataError
        No runs of the network on one side of the split.
    """
    own = runs.table[runs.table["cnn"] == cnn]
    settings = with_qualification(settings_table(own))
    train, test = (settings[settings["n_nodes"].isin(list(nodes))].reset_index(drop=True) for nodes in (trained_on, tested_on))
    if train.empty or test.empty:
        got = ", ".join(map(str, sorted(settings["n_nodes"].unique())))
        expected = f"{', '.join(map(str, trained_on))} and {', '.join(map(str, tested_on))}"
        raise DataError(f"got runs of {cnn} on {got} nodes, expected some on {expected}")
    costs = fit_costs(train, runs.cnns)
    fitted = beside(test, predict_settings(costs, test, forms, seed)).assign(costs="fitted")
    known = beside(settings, predicted(known_times(settings), run_grid(settings), forms, seed)).assign(costs="known")
    return with_noise(pd.concat([fitted, known], ignore_index=True), own)


def predict_settings(costs: Costs, settings: pd.DataFrame, forms: Sequence[str], seed: int = 0) -> pd.DataFrame:
    """Predicted outputs of measured settings from fitted costs."""
    return predicted(costs.times(settings), run_grid(settings), forms, seed)


def wait_errors(runs: TrainerRuns, cnn: str, forms: Sequence[str] = ALL_FORMS, seed: int = 0) -> pd.DataFrame:
    """Measured and predicted waits of every setting of a network, its measured component costs put into each form.

    Returns
    -------
    DataFrame
        One row a (form, setting, wait): seconds, ``period_s`` (the iteration that the wait is part of), ``update_is_longer``
        (T_Update > T_GPU).
    """
    settings = with_qualification(settings_table(runs.table[runs.table["cnn"] == cnn]))
    found = predicted(known_times(settings), run_grid(settings), forms, seed)
    table = beside(settings, found, WAITS_S).rename(
        columns={"quantity": "wait", "measured": "measured_s", "predicted": "predicted_s"}
    )
    longer = settings["update_iteration_s"] > settings["gpu_iteration_s"]
    periods = settings[[*OUTPUTS[:2]]].assign(update_is_longer=longer)
    repeated = periods.iloc[list(found["number"]) * len(WAITS_S)].reset_index(drop=True)
    of_gpu = table["wait"].str.endswith("_gpu_s")
    period_s = repeated["gpu_iteration_s"].where(of_gpu, repeated["update_iteration_s"])
    return table.drop(columns="relative_error").assign(period_s=period_s, update_is_longer=repeated["update_is_longer"])


def wait_summary(waits: pd.DataFrame) -> pd.DataFrame:
    """Mean absolute error of each wait by form, seconds and share of the period; the barrier also where T_Update > T_GPU."""
    everywhere = waits.assign(where="all settings")
    clamped = waits[waits["update_is_longer"] & (waits["wait"] == "barrier_wait_s") & (waits["n_nodes"] > 1)]
    several = everywhere[(everywhere["wait"] != "barrier_wait_s") | (everywhere["n_nodes"] > 1)]
    table = pd.concat([several, clamped.assign(where="T_Update > T_GPU")], ignore_index=True)
    error_s = (table["predicted_s"] - table["measured_s"]).abs()
    table = table.assign(error_s=error_s, error_share=error_s / table["period_s"])
    grouped = table.groupby(["wait", "where", "form"], sort=False)
    means = grouped[["measured_s", "predicted_s", "error_s", "error_share"]].mean()
    return means.assign(n=grouped.size()).reset_index()
