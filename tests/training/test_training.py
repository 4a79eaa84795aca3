"""Training on part of the bundled campaign: what it learns from, what it stores, what it refuses."""

from __future__ import annotations

import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, get_overloads, get_type_hints

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.core.errors import DataError, FitError, UsageError
from mlperf.datasets import Campaign, write_table
from mlperf.models.storage.document import document_to_json
from mlperf.specs import load_cnn
from mlperf.training import Model, TableModel, train, training
from mlperf.training.gradient.gradient import METHODS

pytestmark = pytest.mark.slow


def stored(model: Any) -> str:
    return document_to_json({key: value for key, value in model.to_dict().items() if key != "provenance"})


def test_same_bytes_for_any_number_of_workers(small_campaign: Path, small_model: Any) -> None:
    again = mlperf.train(small_campaign, leave_out=("cnn05", "res03"), n_folds=2, seed=1, jobs=2)
    assert stored(again) == stored(small_model)


def test_a_stored_model_predicts_bit_equal(small_model: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    mlperf.save_model(small_model, path)
    again = mlperf.load_model(path)
    assert stored(again) == stored(small_model)
    calls = small_model.gradient.calls([(load_cnn("alexnet"), 3)])
    for method in METHODS:
        np.testing.assert_array_equal(again.gradient.call_times(calls, method), small_model.gradient.call_times(calls, method))


def test_an_unknown_name_to_leave_out_is_named(small_campaign: Path) -> None:
    with pytest.raises(DataError, match="'cnn99' to leave out"):
        mlperf.train(small_campaign, leave_out=["cnn99"])


def test_leaving_every_network_out_is_refused(small_campaign: Path) -> None:
    with pytest.raises(FitError, match="every CNN to leave out"):
        mlperf.train(small_campaign, leave_out=list(mlperf.read_campaign(small_campaign).cnns))


def test_an_unknown_noise_is_named(small_campaign: Path) -> None:
    with pytest.raises(UsageError, match="noise 'loud'"):
        mlperf.train(small_campaign, noise="loud")


def test_a_kernel_nobody_measured_names_layer_and_kernel(small_model: Any) -> None:
    model = small_model.gradient
    kernels = {name: fits for name, fits in model.kernels.items() if name != "batch_norm"}
    without = replace(model, kernels=kernels)
    calls = without.calls([(load_cnn("resnet18"), 1)])
    with pytest.raises(DataError, match=r"layer 'stem_norm' runs the kernel 'batch_norm'") as caught:
        without.call_times(calls)
    assert caught.value.exit_code == 3
    assert "resnet18" in str(caught.value)


def test_a_damaged_file_names_the_json_path(small_model: Any, tmp_path: Path) -> None:
    document = json.loads(document_to_json(small_model.to_dict()))
    document["components"]["sum_gradient"]["n_rows"] = -4
    path = tmp_path / "model.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(DataError, match=r"model\.json: \$\.components\.sum_gradient\.n_rows"):
        mlperf.load_model(path)


def test_linear_components_stay_small(small_model: Any) -> None:
    for item in small_model.to_dict()["components"].values():
        assert len(json.dumps(item["selected"])) <= 64 * 1024


def test_vector_operations_know_where_caches_end(small_model: Any) -> None:
    terms = small_model.components["sum_gradient"].selected.estimator.terms_
    assert any("2097152" in term for term in terms)
    item = small_model.components["sum_gradient"]
    assert item.selected_errors.errors.mape < 0.5 * item.paper_errors.errors.mape


def test_any_table_is_trained_by_formula_or_terms(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.uniform(1, 9, 60), "b": rng.uniform(1, 9, 60), "device": ["x", "y"] * 30})
    truth = 3.0 + 2.0 * table["a"] * table["b"] + np.where(table["device"] == "y", 4.0, 0.0)
    table = table.assign(time_s=truth * np.exp(0.01 * rng.standard_normal(60)))
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(table.to_csv(index=False).encode()))
    by_terms = mlperf.train(path, target="time_s", terms=["a*b", "a", "device"], method="ols")
    by_formula = mlperf.train(path, target="time_s", formula="time_s ~ I(a * b) + a + device")
    assert by_terms.errors.errors.mape < 0.03
    np.testing.assert_allclose(by_terms.predict(table), by_formula.predict(table), rtol=1e-9)
    np.testing.assert_allclose(by_terms.predict(table), truth, rtol=0.03)


def test_too_few_networks_are_told_what_is_missing(small_campaign: Path, tmp_path: Path) -> None:
    """Two networks at two sub-batch sizes: without one of them there are two calls of a softmax, and a fit needs four."""
    folder = tmp_path / "two"
    shutil.copytree(small_campaign, folder)
    whole = mlperf.read_campaign(folder)
    for file in (folder / "cnns").glob("*.toml"):
        if file.stem not in ("cnn00", "cnn01"):
            file.unlink()
    for table in ("kernels", "steps"):
        rows = getattr(whole, table)
        (folder / f"{table}.csv").unlink()
        kept = rows[rows["cnn"].isin(("cnn00", "cnn01")) & (rows["subbatch_size"] <= 2)]
        write_table(kept.reset_index(drop=True), folder / f"{table}.csv", table)
    with pytest.raises(FitError, match="no CNN can be predicted from the others") as caught:
        mlperf.train(folder)
    assert "without cnn00 there are 2 calls of" in caught.value.message
    assert "2 of softmax" in caught.value.message
    assert "expected at least 4 of each" in caught.value.message
    assert "mlperf collect" in str(caught.value.hint)


def test_a_table_without_a_target_names_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "k20.csv"
    path.write_text("m,n,time_s\n1,2,3\n", encoding="utf-8")
    with pytest.raises(DataError, match="got a file, expected the folder of a campaign") as caught:
        mlperf.train(path)
    assert caught.value.hint == "For one table say which column to predict: --target COLUMN, one of m, n, time_s."
    path.write_bytes(b"")
    with pytest.raises(DataError) as caught:
        mlperf.train(path)
    assert caught.value.hint == "For one table say which column to predict: --target COLUMN."


def test_type_checkers_know_which_model_training_gives() -> None:
    """With ``target`` a table's, without it a campaign's: a union would be refused by every function that takes a model."""
    told = [get_type_hints(each, {"Campaign": Campaign, **vars(training)})["return"] for each in get_overloads(train)]
    assert told == [Model, TableModel]
