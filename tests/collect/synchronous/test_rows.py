"""Rows from laps worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.collect.synchronous.rows import exchange_row, own_work, pair_spread, parts_of_steps, run_row
from mlperf.datasets.dictionary.synchronous_schema import DDP_EXCHANGE, DDP_RUNS, PARTS

#                  begin input forward backward pack exchange update
MARKS = np.array([[[0.0, 1.0, 3.0, 6.0, 6.5, 10.5, 11.0]], [[0.0, 1.0, 4.0, 8.0, 8.5, 10.5, 11.0]]])
"""Two processes, one step of 11 seconds: the second is two seconds late and waits for nobody."""


def test_the_exchange_begins_when_the_last_process_arrives_and_the_others_wait() -> None:
    parts = {name: float(values[0]) for name, values in parts_of_steps(MARKS).items()}
    assert parts == {"input": 1.0, "forward": 2.5, "backward": 3.5, "exchange": 2.0, "straggler": 1.0, "optimizer": 1.0}
    assert sum(parts.values()) == 11.0


def test_a_row_adds_up_and_has_every_column_of_its_table() -> None:
    row = run_row(np.repeat(MARKS, 3, axis=1) * [[[1.0], [2.0], [3.0]]])
    assert row["step_s"] == 22.0
    assert row["forward_std_s"] == pytest.approx(2.5)
    assert sum(row[f"{name}_s"] for name in PARTS) == pytest.approx(22.0)
    told = {
        "overlap",
        "input_overlap",
        "mode",
        "engine",
        "cnn",
        "n_nodes",
        "n_gpus_per_node",
        "subbatch_size",
        "n_params",
        "size_bytes",
        "dataset_size",
    }
    assert set(DDP_RUNS.names) == set(row) | told | {"repeat", "overshoot_s", "loss", "load"}


def test_one_process_exchanges_nothing() -> None:
    row = run_row(MARKS[:1])
    assert (row["exchange_s"], row["straggler_s"], row["step_std_s"]) == (0.0, 0.0, 0.0)
    assert row["step_s"] == 11.0


def test_the_isolated_exchange_is_from_the_last_arrival_to_the_mean_end() -> None:
    """Three exchanges of two processes: 2, 5 and 3 seconds."""
    begin, end = np.array([[0.0, 10.0, 20.0], [1.0, 11.0, 19.0]]), np.array([[3.0, 15.0, 22.0], [3.0, 17.0, 24.0]])
    row = exchange_row(np.stack([begin, end], axis=2))
    assert (row["n_exchanges"], row["exchange_s"]) == (3, 3.0)
    assert set(DDP_EXCHANGE.names) == set(row) | {"engine", "n_nodes", "n_gpus_per_node", "size_bytes", "repeat"}


def test_own_work_is_without_exchange_and_wait() -> None:
    assert own_work(MARKS).tolist() == [[7.0], [9.0]]


def test_the_spread_of_pairs() -> None:
    """That of a normal distribution is its standard deviation; of 1 and 3 it is sqrt(pi); of one value nothing."""
    assert pair_spread(np.array([[1.0], [3.0]])) == pytest.approx(np.sqrt(np.pi))
    assert pair_spread(np.array([[1.0]])) == 0.0
    draws = np.random.default_rng(0).normal(5.0, 2.0, (2, 20_000))
    assert pair_spread(draws) == pytest.approx(2.0, rel=0.02)
    slow = np.where(np.random.default_rng(1).random(20_000) < 0.01, 100.0, 1.0)
    apart = np.maximum(*slow.reshape(2, -1)).mean() - slow.mean()
    assert pair_spread(slow[None]) / np.sqrt(np.pi) == pytest.approx(apart, rel=0.1)
