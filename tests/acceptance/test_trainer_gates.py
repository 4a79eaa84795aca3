"""What the bundled runs of the trainer show, held to what is asked of the equations. Closed forms: no random numbers."""

from __future__ import annotations

import pytest
from mlperf.studies.trainer.forms import PREDICTING
from mlperf.studies.trainer.headline import headline_errors
from mlperf.studies.trainer.split import split_errors, wait_errors, wait_summary

from mlperf.datasets.campaigns.trainer_runs import TrainerRuns, read_runs
from mlperf.studies.trainer.gates import gates_table, headline_gates, ranking_gates, split_gates, wait_gates
from mlperf.studies.trainer.limits import TrainerLimits
from mlperf.studies.trainer.ranking import TOGETHER, rank_windows
from mlperf.training.quality import fit_quality

FORMS = ("paper", PREDICTING)
NETWORK = "cnn29"


@pytest.fixture(scope="module")
def one_network() -> TrainerRuns:
    return read_runs(["asgd-emulated"])


@pytest.fixture(scope="module")
def every_run() -> TrainerRuns:
    return read_runs(["asgd-emulated", "asgd-networks", "asgd-slow-network"])


def test_24_settings_were_run_completely_at_least_twice(one_network: TrainerRuns) -> None:
    table = one_network.table
    repeats = table.groupby(["n_nodes", "n_gpus_per_node", "subbatch_size"]).size()
    assert (len(repeats), int(repeats.min())) == (24, 3)
    assert sorted(table["n_nodes"].unique()) == [1, 2, 4]


def test_fitted_on_one_and_two_nodes_four_are_predicted(one_network: TrainerRuns, trainer_limits: TrainerLimits) -> None:
    gates = gates_table(list(split_gates(split_errors(one_network, NETWORK, forms=FORMS), trainer_limits)))
    assert len(gates) == 8
    assert gates["met"].all()


def test_the_barrier_and_two_locks_are_better_than_the_papers(one_network: TrainerRuns) -> None:
    gates = gates_table(list(wait_gates(wait_summary(wait_errors(one_network, NETWORK, FORMS)))))
    assert len(gates) == 3
    assert gates["met"].all()


def test_five_other_networks_follow_from_the_components_of_one(every_run: TrainerRuns, trainer_limits: TrainerLimits) -> None:
    errors = headline_errors(every_run, NETWORK, forms=FORMS)
    assert errors["cnn"].nunique() == 5
    gates = gates_table(list(headline_gates(errors, trainer_limits)))
    assert len(gates) == 3
    assert gates["met"].all()


def test_two_machines_are_ranked_as_measured(every_run: TrainerRuns, trainer_limits: TrainerLimits) -> None:
    found = rank_windows(every_run, NETWORK)
    assert [each.machine == TOGETHER for each in found] == [False, False, True]
    assert all(len(each.table) >= 6 for each in found)
    gates = gates_table(list(ranking_gates(found, trainer_limits)))
    assert len(gates) == 2 * len(found)
    assert gates["met"].all()


def test_epochs_to_an_accuracy_grow_with_the_minibatch() -> None:
    quality = fit_quality(["asgd-digits"], 0.9)
    assert quality.n_settings >= 20
    assert quality.epochs(200.0, 1.1) > 2.0 * quality.epochs(40.0, 1.1)
