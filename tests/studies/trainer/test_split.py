"""The split by nodes on a SIMULATED campaign, whose costs obey the laws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.datasets.campaigns.trainer_runs import read_runs, settings_table
from mlperf.studies.trainer.costs import MEASURED, TABLE_ONLY, fit_costs
from mlperf.studies.trainer.errors import summary
from mlperf.studies.trainer.split import split_errors, wait_errors, wait_summary

CLOSED = ("paper", "convolution")


@pytest.fixture(scope="module")
def split(simulated_campaign: Path) -> pd.DataFrame:
    return split_errors(read_runs([simulated_campaign]), "one", forms=CLOSED)


def test_costs_on_more_nodes_follow_from_fewer(simulated_campaign: Path) -> None:
    """True costs: the share's power 1.2, payload 2 (M - 1) / M; noise of 0.2 % a cost, the barrier's part is the equations'."""
    runs = read_runs([simulated_campaign])
    settings = settings_table(runs.table)
    few, many = settings[settings["n_nodes"] < 4], settings[settings["n_nodes"] == 4]
    times = fit_costs(few.reset_index(drop=True), runs.cnns).times(many)
    assert times.add_momentum_s == pytest.approx(many["add_momentum_s"].to_numpy(), rel=0.01)
    assert times.fetch_weights_s == pytest.approx(many["fetch_weights_s"].to_numpy(), rel=0.01)
    assert times.allreduce_s == pytest.approx(many["allreduce_payload_s"].to_numpy(), rel=0.05)
    assert times.compute_gradient_s == pytest.approx(many["compute_gradient_s"].to_numpy(), rel=0.01)


@pytest.mark.parametrize("spreads", [MEASURED, TABLE_ONLY])
def test_components_csv_alone_is_enough(simulated_campaign: Path, spreads: str) -> None:
    runs = read_runs([simulated_campaign])
    read = [
        name for name in runs.table.columns if not name.endswith("_std_s") and name not in ("barrier_wait_s", "allreduce_payload_s")
    ]
    settings = settings_table(runs.table if spreads == MEASURED else runs.table[read])
    costs = fit_costs(settings, runs.cnns, spreads)
    assert costs.variation["gpu_work"] == pytest.approx(0.06, abs=0.05)


def test_fitted_on_few_nodes_the_equations_hold_on_more(split: pd.DataFrame) -> None:
    found = summary(split, ["costs", "form", "quantity"]).set_index(["costs", "form", "quantity"])
    assert found.loc[("fitted", "convolution", "gpu_iteration_s"), "mean_error"] < 0.015
    assert found.loc[("fitted", "convolution", "update_iteration_s"), "mean_error"] < 0.04
    assert found.loc[("fitted", "convolution", "update_iteration_s"), "n"] == 6
    assert found.loc[("known", "convolution", "update_iteration_s"), "n"] == 18


def test_a_prediction_stands_beside_the_mean_of_its_own_repeats(split: pd.DataFrame, simulated_campaign: Path) -> None:
    row = split[(split["quantity"] == "epoch_s")].iloc[5]
    runs = read_runs([simulated_campaign]).table
    own = runs[(runs["n_nodes"] == row["n_nodes"]) & (runs["n_gpus_per_node"] == row["n_gpus_per_node"])]
    own = own.loc[own["subbatch_size"] == row["subbatch_size"], "epoch_s"].to_numpy()
    assert row["measured"] == pytest.approx(own.mean())
    assert row["repeat_difference"] == pytest.approx(abs(np.diff(own)[0]) / own.mean())


def test_settings_with_inexact_waits_do_not_qualify(split: pd.DataFrame) -> None:
    assert set(split["qualifies"]) == {True, False}


def test_waits_of_every_setting_stand_beside_each_form(simulated_campaign: Path) -> None:
    waits = wait_errors(read_runs([simulated_campaign]), "one", CLOSED)
    assert len(waits) == 18 * 5 * 2
    one_node = waits[(waits["wait"] == "barrier_wait_s") & (waits["n_nodes"] == 1)]
    assert one_node["predicted_s"].to_numpy() == pytest.approx(0.0, abs=1e-12)
    errors = wait_summary(waits).set_index(["wait", "where", "form"])["error_s"].sort_index()
    barrier = errors["barrier_wait_s", "T_Update > T_GPU"]
    assert barrier["convolution"] < barrier["paper"]


def test_a_split_without_its_test_nodes_is_refused(simulated_campaign: Path) -> None:
    with pytest.raises(DataError, match="8"):
        split_errors(read_runs([simulated_campaign]), "one", tested_on=(8,))
