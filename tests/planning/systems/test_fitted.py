"""Systems fitted to tables of their own: rows and grids predicted, rows beside measurements, through the commands."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from planted_constants import planted_model

from mlperf.cli.main import cli
from mlperf.collect.servers.net import shipped_nets
from mlperf.core.errors import DataError, DomainError, UsageError
from mlperf.planning.systems.fitted import compare_fitted, fitted_grid, predict_fitted, read_fitted_rows
from mlperf.systems.coupling.queues import closed_queue
from mlperf.training.systems.by_system import train_for_system
from mlperf.training.systems.train_system import train_system

pytestmark = pytest.mark.slow

WORK_S, FIXED_S, RING_S, ACROSS_S = 2e-3, 5e-3, 4e-3, 3e-3


def step_of(n_nodes: int, batch: int) -> float:
    """A step of made-up costs: samples, a constant, a ring over 4 GPUs a node, leaving the node."""
    n_gpus = 4 * n_nodes
    return WORK_S * batch + FIXED_S + RING_S * (n_gpus - 1) / n_gpus + ACROSS_S * (n_nodes > 1)


@pytest.fixture
def steps(tmp_path: Path) -> Path:
    rows = [(n, 4, b, step_of(n, b)) for n, b in product([1, 2, 4, 8], [1, 4, 16, 64])]
    path = tmp_path / "steps.csv"
    pd.DataFrame(rows, columns=["n_nodes", "n_gpus_per_node", "subbatch_size", "step_s"]).to_csv(path, index=False)
    return path


@pytest.fixture
def speeds(tmp_path: Path) -> Path:
    workers = np.arange(1.0, 9.0)
    rates = closed_queue(np.full(8, 0.03), np.full(8, 0.009), workers, np.zeros(8)).throughput_per_s
    path = tmp_path / "speeds.csv"
    pd.DataFrame({"n_workers": workers.astype(int), "updates_per_s": rates}).to_csv(path, index=False)
    return path


def test_costs_that_were_put_in_come_out_at_sizes_that_were_not(steps: Path) -> None:
    model = train_for_system(steps, "data-parallel")
    found = predict_fitted(model, fitted_grid(model, {"n_nodes": [1, 3, 16], "subbatch_size": [8, 32]}))
    wanted = [step_of(n, b) for n, b in product([1, 3, 16], [8, 32])]
    np.testing.assert_allclose(found.predicted, wanted, rtol=1e-6)
    assert found.in_domain.tolist() == [True] * 4 + [False] * 2
    assert "n_nodes 16" in found.reason[-1] or "n_gpus 64" in found.reason[-1]
    assert found.fastest == int(np.argmax(found.further["samples_per_s"]))
    assert found.fastest == 5, "the most samples a second, not the shortest step"
    with pytest.raises(DomainError, match="row 5"):
        predict_fitted(model, found.rows, strict=True)


def test_a_grid_must_name_what_varied(steps: Path) -> None:
    model = train_for_system(steps, "data-parallel")
    with pytest.raises(UsageError, match="got no subbatch_size") as caught:
        fitted_grid(model, {"n_nodes": [2], "subbatch_size": None})
    assert "--subbatch" in str(caught.value.hint)
    grid = fitted_grid(model, {"n_nodes": [2], "subbatch_size": [4]})
    assert grid["n_gpus_per_node"].tolist() == [4]


def test_a_queue_that_was_put_in_comes_out(speeds: Path) -> None:
    model = train_for_system(speeds, "parameter-server")
    found = predict_fitted(model, pd.DataFrame({"n_workers": [3, 16]}))
    wanted = closed_queue(np.full(2, 0.03), np.full(2, 0.009), np.array([3.0, 16.0]), np.zeros(2))
    np.testing.assert_allclose(found.predicted, wanted.throughput_per_s, rtol=1e-3)
    assert found.in_domain.tolist() == [True, False]


def test_measured_rows_are_compared(steps: Path, speeds: Path) -> None:
    model = train_for_system(steps, "data-parallel")
    slower = pd.read_csv(steps).assign(step_s=lambda rows: 1.1 * rows["step_s"])
    assert compare_fitted(model, slower).errors["step_s"].bias == pytest.approx(1 / 1.1 - 1, rel=1e-4)
    servers = train_for_system(speeds, "parameter-server")
    assert compare_fitted(servers, speeds).errors["updates_per_s"].mape < 1e-3
    with pytest.raises(DataError, match="step_s"):
        compare_fitted(model, slower.drop(columns="step_s"))


def invoke(*words: Any) -> str:
    done = CliRunner().invoke(cli, [str(word) for word in words], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.stdout


def test_the_commands_take_one_from_a_table_to_an_answer(steps: Path, tmp_path: Path) -> None:
    model, out = tmp_path / "model.json", tmp_path / "predicted.csv"
    invoke("train", steps, "--system", "data-parallel", "-o", model)
    assert "leaving the machine" in invoke("report", model)
    shown = invoke("predict", model, "--nodes", "1:4", "--subbatch", "16", "-o", out)
    assert shown.startswith("data-parallel, 4 rows: fastest is row 4, n nodes 4, n gpus per node 4, subbatch size 16: ")
    np.testing.assert_allclose(pd.read_csv(out)["predicted_step_s"], [step_of(n, 16) for n in (1, 2, 3, 4)], rtol=1e-6)
    document = json.loads(invoke("compare", model, steps, "--json"))
    assert document["result"]["errors"]["step_s"]["mape"] < 1e-6


@pytest.mark.parametrize("system", ["data-parallel", "parameter-server"])
def test_what_was_measured_stands_beside_what_is_predicted(steps: Path, speeds: Path, system: str) -> None:
    """Measured values of every name stay; predicting the written rows again replaces the predictions alone."""
    path, target, part = {
        "data-parallel": (steps, "step_s", "exchange_s"),
        "parameter-server": (speeds, "updates_per_s", "wait_s"),
    }[system]
    model = train_for_system(path, system)
    rows = pd.read_csv(path).assign(**{part: 7.0, "reason": "mine"})
    found = predict_fitted(model, rows).to_frame()
    pd.testing.assert_frame_equal(found[list(rows)], rows)
    plain = predict_fitted(model, rows.drop(columns=[target, part, "reason"])).to_frame()
    for name in (part, "reason"):
        assert found[f"predicted_{name}"].tolist() == plain[name].tolist()
    assert found[f"predicted_{target}"].tolist() == plain[f"predicted_{target}"].tolist()
    pd.testing.assert_frame_equal(predict_fitted(model, found).to_frame(), found)
    pd.testing.assert_frame_equal(predict_fitted(model, plain).to_frame(), plain)


def test_what_no_table_trains_is_refused(steps: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="to train on a table"):
        invoke("train", steps, "--system", "stale-synchronous", "-o", tmp_path / "x.json")
    with pytest.raises(UsageError, match="got --terms"):
        invoke("train", steps, "--system", "data-parallel", "--terms", "n_nodes", "-o", tmp_path / "x.json")
    with pytest.raises(UsageError, match="got features"):
        invoke("train", steps, "--system", "data-parallel", "--feature", "n_nodes", "-o", tmp_path / "x.json")


def test_runs_of_slowed_waits_are_judged_in_the_seconds_of_the_constants() -> None:
    model = planted_model()
    rows = pd.DataFrame({"cnn": "digits-fc", "plan": "1x1x1/1x1x1/1x1x1", "mode": ["real", "emulated compute x20"]})
    cnns = tuple(shipped_nets().values())
    period = predict_fitted(model, rows, cnns=cnns).predicted[0]
    measured = rows.assign(period_s=[period, 20.0 * period])
    assert compare_fitted(model, measured, cnns=cnns).errors["period_s"].mape < 1e-9


def test_rows_of_a_file_may_spell_their_columns_otherwise(tmp_path: Path) -> None:
    rows = pd.DataFrame({"n_gpus": [1, 2, 4, 8], "subbatch_size": 8, "step_ms": [10.0, 11.0, 12.0, 13.0]})
    model = train_system(rows)
    path = tmp_path / "rows.csv"
    rows.rename(columns={"n_gpus": "N GPUs", "step_ms": "step (ms)"}).to_csv(path, index=False)
    assert list(read_fitted_rows(model, path)) == list(rows)
