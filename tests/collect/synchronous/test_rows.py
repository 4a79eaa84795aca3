"""Rows from laps worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.collect.synchronous.rows import exchange_row, parts_of_steps, run_row
from mlperf.datasets.dictionary.synchronous_schema import DDP_EXCHANGE, DDP_RUNS, PARTS

#                 input forward backward pack exchange update
LAPS = np.array([[[1.0, 2.0, 3.0, 0.5, 4.0, 0.5]], [[1.0, 3.0, 4.0, 0.5, 2.0, 0.5]]])
"""Two processes, one step of 11 seconds: the second is two seconds late and waits for nobody."""


def test_the_last_process_tells_the_exchange_and_the_others_the_wait() -> None:
    parts = {name: float(values[0]) for name, values in parts_of_steps(LAPS).items()}
    assert parts == {"input": 1.0, "forward": 2.5, "backward": 3.5, "exchange": 2.0, "straggler": 1.0, "optimizer": 1.0}
    assert sum(parts.values()) == 11.0


def test_a_row_adds_up_and_has_every_column_of_its_table() -> None:
    row = run_row(np.repeat(LAPS, 3, axis=1) * [[[1.0], [2.0], [3.0]]])
    assert row["step_s"] == 22.0
    assert row["step_std_s"] == 11.0
    assert sum(row[f"{name}_s"] for name in PARTS) == pytest.approx(22.0)
    told = {"mode", "engine", "cnn", "n_nodes", "n_gpus_per_node", "subbatch_size", "n_params", "size_bytes", "dataset_size"}
    assert set(DDP_RUNS.names) == set(row) | told | {"repeat", "overshoot_s", "loss", "load"}


def test_one_process_exchanges_nothing() -> None:
    row = run_row(LAPS[:1])
    assert (row["exchange_s"], row["straggler_s"], row["step_std_s"]) == (0.0, 0.0, 0.0)
    assert row["step_s"] == 11.0


def test_the_isolated_exchange_is_that_of_the_last_to_arrive() -> None:
    row = exchange_row(np.array([[2.0, 5.0, 3.0], [1.0, 9.0, 4.0]]))
    assert (row["n_exchanges"], row["exchange_s"]) == (3, 3.0)
    assert set(DDP_EXCHANGE.names) == set(row) | {"engine", "n_nodes", "n_gpus_per_node", "size_bytes", "repeat"}
