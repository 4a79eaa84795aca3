"""Configurations are every combination, the last axis fastest; some of them read what all of them read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.core.errors import UsageError
from mlperf.planning.inputs import asked_configurations, configuration_inputs, configurations
from mlperf.planning.options import PredictionOptions
from mlperf.specs import JobSpec, load_cnn, load_machine


def test_every_combination_stands_once_the_last_axis_fastest() -> None:
    found = configurations(range(2), (1, 4), 8, [2, 3], 1000)
    assert found.to_numpy().tolist() == [[cnn, nodes, 8, size, 1000] for cnn in (0, 1) for nodes in (1, 4) for size in (2, 3)]


def test_some_configurations_read_what_they_would_alone(small_model: Any) -> None:
    cnns, machine = [load_cnn("alexnet"), load_cnn("resnet18")], load_machine("cpu-cluster")
    configs = configurations(range(2), [1, 4], [1, 2], [1, 2], 60_000)
    rows = np.array([13, 2, 7])
    taken = configuration_inputs(small_model, cnns, machine, configs).take(rows)
    alone = configuration_inputs(small_model, cnns, machine, configs.iloc[rows])
    pd.testing.assert_frame_equal(taken.columns, alone.columns)
    pd.testing.assert_frame_equal(taken.steps.calls, alone.steps.calls, check_dtype=False)
    assert taken.run.subbatch_size.tolist() == configs["subbatch_size"].iloc[rows].tolist()


def test_more_configurations_than_memory_takes_are_refused_before_they_are_made() -> None:
    with pytest.raises(UsageError, match="got 1,000,000,000,000 configurations, expected at most 10,000,000"):
        configurations(range(1), range(1, 10_001), range(1, 10_001), range(1, 10_001), 1000)


def test_the_model_of_a_table_is_told_what_it_can_be_asked() -> None:
    table = pd.DataFrame({"m": np.arange(1.0, 31.0), "time_s": np.arange(1.0, 31.0) * 1.01})
    model: Any = mlperf.train(table, target="time_s", terms=["m"], method="ols")
    machine, job = load_machine("kfc"), JobSpec(dataset_size=1000)
    for ask in (
        lambda: mlperf.predict_epoch(model, load_cnn("alexnet"), machine, job),
        lambda: mlperf.search_runs(model, load_cnn("alexnet"), machine, job),
        lambda: mlperf.compare_runs(model, "asgd-emulated"),
    ):
        with pytest.raises(UsageError, match=r"got the model of a table \(time_s\), expected one of a campaign") as caught:
            ask()
        assert "mlperf predict --rows" in str(caught.value.hint)
    with pytest.raises(UsageError, match="got str, expected the model of a campaign"):
        mlperf.compare_runs("model.json", "asgd-emulated")  # type: ignore[arg-type]


@pytest.mark.parametrize("counts", [0, [], [1, 0], 2.5, "12", ["1"], None, True, [1, 2**63]])
def test_counts_that_are_none_are_named(counts: Any) -> None:
    with pytest.raises(UsageError, match=r"n_nodes: got .*, expected a whole number >= 1, or several"):
        configurations([0], counts, 2, [1, 2], 60_000)


def test_counts_may_be_of_any_kind() -> None:
    for counts in (range(1, 3), np.array([1, 2]), (1, np.int64(2)), pd.Series([1, 2])):
        assert configurations([0], counts, 2, 1, 60_000)["n_nodes"].tolist() == [1, 2]
    assert configurations([0], np.int64(3), 2, 1, 60_000)["n_nodes"].tolist() == [3]


def test_a_job_is_a_job_and_a_level_a_share() -> None:
    with pytest.raises(UsageError, match="got dict, expected a JobSpec"):
        asked_configurations([load_cnn("alexnet")], load_machine("kfc"), {"dataset_size": 5}, (1, 1, 1))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="got level 95, expected a share between 0 and 1"):
        PredictionOptions(level=95)
