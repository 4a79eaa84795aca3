"""Errors, coverage and noise of answers whose errors are known."""

from __future__ import annotations

import pandas as pd
import pytest

from mlperf.datasets.campaigns.trainer_runs import TrainerRuns
from mlperf.studies.judgement.scores import asked_errors, error_table, interval_table, network_errors, repeat_noise
from mlperf.studies.trainer.predictions import MODEL
from mlperf.studies.trainer.protocols import LEFT_OUT, NODES, ONE


def part(trained_on: str, cnn: str, error: float, protocol: str = ONE, machine: str = "ring") -> dict[str, object]:
    key = {"protocol": protocol, "machine": machine, "trained_on": trained_on, "cnn": cnn, "method": MODEL, "quantity": "epoch_s"}
    return {**key, "error": error, "max_error": 2.0 * error}


def test_networks_weigh_alike_whatever_their_settings() -> None:
    """Network a: mean of 0.1 and -0.3; network b: 0.6. Together 0.4, not 1 / 3."""
    keys = {"protocol": LEFT_OUT, "machine": "ring", "method": MODEL, "quantity": "epoch_s"}
    rows = [
        {**keys, "trained_on": f"all but {cnn}", "cnn": cnn, "relative_error": e}
        for cnn, e in (("a", 0.1), ("a", -0.3), ("b", 0.6))
    ]
    networks = network_errors(pd.DataFrame(rows))
    assert networks["error"].tolist() == pytest.approx([0.2, 0.6])
    (found,) = error_table(networks).query("machine == 'all'").to_dict("records")
    assert (found["error"], found["max_error"]) == (pytest.approx(0.4), 0.6)


def test_of_one_network_the_median_is_over_what_was_fitted_on_and_the_mean_over_machines_and_others() -> None:
    """Fitted on a: (1 + 2 + 3 + 6) / 4 = 3; on b: 10; on c: 4 (times 0.01): the median is 4, the mean of medians would not be."""
    fitted = {"a": ((1, 2), (3, 6)), "b": ((9, 11), (8, 12)), "c": ((0, 0), (8, 8))}
    parts = [
        part(name, f"other {place}", 0.01 * error, machine=machine)
        for name, machines in fitted.items()
        for machine, errors in zip(("ring", "tree"), machines, strict=True)
        for place, error in enumerate(errors)
    ]
    errors = error_table(pd.DataFrame(parts)).set_index("machine")["error"]
    assert errors.to_dict() == {"ring": pytest.approx(0.015), "tree": pytest.approx(0.08), "all": pytest.approx(0.04)}


def test_limits_of_more_nodes_are_asked_machine_by_machine(judged_rows: pd.DataFrame) -> None:
    asked = asked_errors(error_table(network_errors(judged_rows)))
    machines = asked.groupby("protocol")["machine"].unique()
    assert {name: sorted(each) for name, each in machines.items()} == {
        LEFT_OUT: ["all"],
        NODES: ["halving-doubling", "ring", "tree"],
        ONE: ["all"],
    }
    assert asked["error"].to_numpy() == pytest.approx(0.01)


def test_every_run_counts_by_itself() -> None:
    """A setting run twice with one run outside, one run once inside: 2 of 3."""
    keys = {"protocol": LEFT_OUT, "machine": "ring", "method": MODEL, "quantity": "epoch_s", "n_nodes": 2, "predicted": 10.0}
    bounds = {"lower": 9.0, "upper": 12.0, "relative_error": -0.05}
    rows = [{**keys, **bounds, "inside": inside, "n_repeats": n} for inside, n in ((0.5, 2), (1.0, 1))]
    (found,) = interval_table(pd.DataFrame(rows)).query("machine == 'all' and nodes == '2'").to_dict("records")
    assert (found["n_runs"], found["coverage"]) == (3, pytest.approx(2 / 3))
    assert (found["half_width"], found["mean_error"]) == (pytest.approx(0.15), pytest.approx(0.05))


def test_noise_is_twice_the_mean_difference_of_two_runs(judged_runs: TrainerRuns) -> None:
    """All 27 repeated settings differ by 0.002 of the first run, which is 0.002 / 1.001 of their mean."""
    assert repeat_noise(judged_runs.table)["epoch_s"] == pytest.approx(2.0 * 0.002 / 1.001)
