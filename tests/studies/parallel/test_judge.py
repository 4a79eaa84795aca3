"""Judging runs whose times are made from the model itself, with and without planted errors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.collect.servers.rows import setting_of
from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.datasets.dictionary.server_schema import PS_RUNS
from mlperf.planning.partition.given_plans import predict_plans
from mlperf.studies.parallel.judge import (
    ParallelJudgement,
    check_runs,
    gates,
    kendall_beyond,
    measured_rows,
    predicted,
    repeat_noise,
)
from mlperf.studies.parallel.protocol import read_protocol
from mlperf.studies.trainer.gates import gates_table
from mlperf.training.systems.constants_model import ConstantsModel

pytestmark = pytest.mark.slow

PROTOCOL = read_protocol(Path(__file__).parents[2] / "acceptance" / "parallel_servers.toml")
CNNS = tuple(PROTOCOL.servers(Path()).cnns.values())
MODE = "emulated compute+network x100"


@pytest.fixture(scope="module")
def periods(fit: ConstantsModel) -> FloatArray:
    """What the model says of every configuration, seconds."""
    settings = pd.DataFrame([configuration.to_dict() for configuration in PROTOCOL.configurations])
    return predict_plans(fit, settings, CNNS).period_s


def made_runs(periods: FloatArray, factor: dict[int, float]) -> pd.DataFrame:
    """Runs that take what the model says, times a factor for some configurations; two repeats 1 % apart."""
    rows = []
    for place, configuration in enumerate(PROTOCOL.configurations):
        period_s = 100 * periods[place] * factor.get(place, 1.0)
        for repeat in (1, 2):
            value = period_s * (1.0 + 0.005 * (2 * repeat - 3))
            rate = configuration.n_replicas * configuration.minibatch_size / value
            numbers = {"epoch_s": 1438 / rate, "samples_per_s": rate, "period_s": value, "staleness": 0.0, "test_accuracy": 0.9}
            rows.append({**dict.fromkeys(PS_RUNS.names, 0.0), **setting_of(configuration, MODE, repeat), **numbers})
    return pd.DataFrame(rows)


def judged(fit: ConstantsModel, periods: FloatArray, factor: dict[int, float]) -> pd.DataFrame:
    runs = made_runs(periods, factor)
    rows = predicted(measured_rows(runs), fit, CNNS, PROTOCOL)
    return gates_table(gates(rows, repeat_noise(runs), PROTOCOL)).set_index("gate")


def test_a_model_that_is_right_meets_every_gate_and_the_baselines_do_not_come_near(
    fit: ConstantsModel, periods: FloatArray
) -> None:
    found = judged(fit, periods, {})
    assert found["met"].all()
    assert found.loc["largest error of a configuration", "value"] < 1e-3
    assert found.loc["mean error over that of perfect scaling", "value"] < 0.02


def test_a_planted_error_misses_the_gate_it_belongs_to(fit: ConstantsModel, periods: FloatArray) -> None:
    found = judged(fit, periods, {2: 1.4})
    assert not found.loc["largest error of a configuration", "met"]
    assert found.loc["largest error of a configuration", "value"] == pytest.approx(1 - 1 / 1.4, rel=1e-3)
    assert found.loc["digits-conv: rank correlation beyond noise", "met"]


def test_pairs_closer_than_the_noise_are_not_ranked() -> None:
    measured = np.array([1.0, 1.01, 2.0])
    assert kendall_beyond(np.array([1.1, 1.0, 2.0]), measured, 0.02) == 1.0
    assert kendall_beyond(np.array([1.1, 1.0, 2.0]), measured, 0.0) == pytest.approx(1 / 3)
    assert kendall_beyond(measured, np.ones(3), 0.0) == 1.0


def test_the_noise_is_twice_the_mean_difference_of_repeats(periods: FloatArray) -> None:
    runs = made_runs(periods, {})
    assert repeat_noise(runs) == pytest.approx(0.02, rel=1e-2)
    assert repeat_noise(runs[runs["repeat"] == 1]) == 0.0


def test_missing_and_foreign_runs_are_refused(periods: FloatArray) -> None:
    runs = made_runs(periods, {})
    check_runs(PROTOCOL, runs, MODE, "folder")
    with pytest.raises(DataError, match="got no run of"):
        check_runs(PROTOCOL, runs.iloc[1:], MODE, "folder")
    fewer = replace(PROTOCOL, configurations=PROTOCOL.configurations[1:])
    with pytest.raises(DataError, match="got one more run of"):
        check_runs(fewer, runs, MODE, "folder")


def test_gates_are_the_table_and_everything_is_in_the_document() -> None:
    gates = pd.DataFrame({"gate": ["a"], "met": [True]})
    found = ParallelJudgement(pd.DataFrame({"error": [0.1]}), gates, 0.02, "real")
    assert found.to_frame() is gates
    assert set(found.to_dict()) == {"rows", "gates", "noise", "mode"}
