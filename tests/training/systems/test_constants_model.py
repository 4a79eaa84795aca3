"""Measured loops to constants and back from a file; the command's own way to an optimum and to predicted rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from mlperf.cli.main import cli
from mlperf.core.errors import DataError, FitError
from mlperf.planning.partition.given_plans import predict_plans
from mlperf.planning.systems.fitted import predict_fitted
from mlperf.specs.network.cnn_toml import read_cnn
from mlperf.studies.model_files import load_model, save_model
from mlperf.training.systems.constants_model import ConstantsModel, train_constants

pytestmark = pytest.mark.slow

KEPT = Path(__file__).parents[2] / "reference" / "parallel" / "servers"
NETWORK = {"latency_s": 5e-6, "bytes_per_s": 6e9}


def test_a_stored_model_predicts_bit_equal(tmp_path: Path) -> None:
    model = train_constants(KEPT / "constants", **NETWORK)
    save_model(model, tmp_path / "constants.json")
    again = load_model(tmp_path / "constants.json", "mlperf-constants")
    assert isinstance(again, ConstantsModel)
    rows = pd.read_csv(KEPT / "runs" / "ps_runs.csv").head(6)
    cnns = [read_cnn(path) for path in sorted((KEPT / "runs" / "cnns").glob("*.toml"))]
    np.testing.assert_array_equal(predict_plans(model, rows, cnns).period_s, predict_plans(again, rows, cnns).period_s)


def test_the_network_must_be_known() -> None:
    with pytest.raises(FitError, match="expected both numbers"):
        train_constants(KEPT / "constants")


def test_from_measurements_to_plans_through_the_commands(tmp_path: Path) -> None:
    """Train on the kept loops, compare with every third kept run (100 times slowed), and optimize on the same file."""
    runs = pd.read_csv(KEPT / "runs" / "ps_runs.csv").iloc[::3]
    runs.assign(period_s=runs["period_s"] / 100.0).to_csv(tmp_path / "runs.csv", index=False)
    model, words = str(tmp_path / "constants.json"), ["--latency", "5e-6", "--bandwidth", "6e9", "-o"]
    made = CliRunner().invoke(cli, ["train", str(KEPT / "constants"), "--system", "model-parallel", *words, model])
    assert made.exit_code == 0, made.output
    cnns = [word for path in sorted((KEPT / "runs" / "cnns").glob("*.toml")) for word in ("--cnn", str(path))]
    found = CliRunner().invoke(cli, ["compare", model, str(tmp_path / "runs.csv"), *cnns, "--max-error", "0.06", "--json"])
    assert found.exit_code == 0, found.output
    said = CliRunner().invoke(cli, ["predict", model, "--rows", str(tmp_path / "runs.csv"), *cnns, "--json"])
    assert said.exit_code == 0, said.output
    assert len(json.loads(said.stdout)["result"]["predicted"]) == len(runs) == 16
    asked = ["--constants", model, "--machines", "4", "--minibatch-size", "16", "--dataset-size", "1438", "--top", "1"]
    plan = CliRunner().invoke(cli, ["optimize", cnns[-1], *asked])
    assert plan.exit_code == 0, plan.output


def test_rows_of_plans_may_leave_out_what_has_a_usual_value(tmp_path: Path) -> None:
    """One replica without servers: the exchange has nothing to say."""
    model, path = train_constants(KEPT / "constants", **NETWORK), tmp_path / "plans.csv"
    cnns = [read_cnn(path) for path in sorted((KEPT / "runs" / "cnns").glob("*.toml"))]
    path.write_text("cnn,plan\ndigits-fc,2x1x1/1x1x1/1x1x1\n", encoding="utf-8")
    found = predict_fitted(model, path, cnns=cnns)
    wanted = pd.DataFrame([{"cnn": "digits-fc", "plan": "2x1x1/1x1x1/1x1x1", "exchange": "asynchronous", "n_replicas": 1}])
    np.testing.assert_array_equal(found.predicted, predict_plans(model, wanted, cnns).period_s)
    path.write_text("cnn,exchange\ndigits-fc,asynchronous\n", encoding="utf-8")
    with pytest.raises(DataError, match="expected also 'plan'"):
        predict_fitted(model, path, cnns=cnns)
