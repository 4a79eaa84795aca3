"""Where a model errs more: learned from left-out residuals without letting a group announce itself."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.models import StepwiseOLS
from mlperf.models.uncertainty.difficulty import Difficulty, left_out_scores
from mlperf.models.validation.folds import grouped_folds, leave_one_group_out

LEVEL = 0.95


def growing(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Errors of 2 % at x = 1 that grow with x**0.25 to 20 % at x = 10,000, and a column without influence."""
    columns = np.column_stack([10.0 ** rng.uniform(0.0, 4.0, n), rng.standard_normal(n)])
    return columns, 0.02 * columns[:, 0] ** 0.25 * rng.standard_normal(n)


def test_the_size_of_residuals_is_found_where_it_changes() -> None:
    columns, residuals = growing(np.random.default_rng(0), 3000)
    made = Difficulty.fit(columns, residuals)
    assert made is not None
    x = np.array([10.0, 100.0, 1000.0])
    sizes = made[0].at(np.column_stack([x, np.zeros(3)]))
    np.testing.assert_allclose(sizes, 0.02 * x**0.25 * np.sqrt(2.0 / np.pi), rtol=0.25)
    assert made[0].spread() == pytest.approx(np.sqrt(np.mean(made[0].at(columns) ** 2)), rel=0.1)


def test_scores_cover_small_and_large_rows_alike() -> None:
    columns, residuals = growing(np.random.default_rng(1), 4000)
    scores, difficulty = left_out_scores(columns[:2000], residuals[:2000])
    assert difficulty is not None
    lower, upper = scores.at(np.array([0.025, 0.975]))
    found = residuals[2000:] / difficulty.at(columns[2000:])
    hit, largest = (lower <= found) & (found <= upper), columns[2000:, 0] > 1000.0
    plain = np.quantile(residuals[:2000], [0.025, 0.975])
    assert hit.mean() == pytest.approx(LEVEL, abs=0.02)
    assert hit[largest].mean() == pytest.approx(LEVEL, abs=0.04)
    assert ((plain[0] <= residuals[2000:]) & (residuals[2000:] <= plain[1]))[largest].mean() < 0.9


def test_a_group_does_not_announce_its_own_errors() -> None:
    """Rows of a group share columns and error: sizes from the own group would make the scores too small."""
    rng = np.random.default_rng(2)
    group = np.repeat(np.arange(60), 10)
    columns = np.repeat(rng.standard_normal((60, 3)), 10, axis=0)
    residuals = np.repeat(rng.standard_normal(60), 10)
    fold_of = np.empty(600, dtype=np.int64)
    for number, fold in enumerate(grouped_folds(group, 10, 0)):
        fold_of[fold.test] = number
    naive, _ = left_out_scores(columns, residuals)
    honest, _ = left_out_scores(columns, residuals, fold_of)
    assert honest.at(np.array(0.975)) > 1.1 * naive.at(np.array(0.975))


def test_too_few_or_constant_rows_have_no_difficulty() -> None:
    rng = np.random.default_rng(3)
    assert Difficulty.fit(rng.standard_normal((20, 2)), rng.standard_normal(20)) is None
    assert Difficulty.fit(np.ones((100, 2)), rng.standard_normal(100)) is None
    assert Difficulty.fit(rng.standard_normal((100, 2)), np.zeros(100)) is None


def test_reloaded_sizes_are_the_same_bits_and_small() -> None:
    rng = np.random.default_rng(4)
    columns = rng.lognormal(0.0, 2.0, (5000, 40))
    made = Difficulty.fit(columns, rng.standard_normal(5000))
    assert made is not None
    text = json.dumps(made[0].to_dict())
    again = Difficulty.from_dict(json.loads(text))
    np.testing.assert_array_equal(again.at(columns), made[0].at(columns))
    assert len(text) < 9000
    with pytest.raises(DataError):
        Difficulty.from_dict(made[0].to_dict() | {"size": []})


def covered(frame: pd.DataFrame, y: Any, groups: Any, folds: Any, terms: Any = None) -> tuple[float, float, float]:
    """Share covered, median half-width over the prediction, and MAPE of left-out rows."""
    hits, widths, errors = [], [], []
    for fold in folds:
        model = StepwiseOLS(terms=terms, noise="relative", report=["nested_cv"])
        model.fit(frame.iloc[fold.train], y[fold.train], groups=groups[fold.train])
        queries, actual = frame.iloc[fold.test], y[fold.test]
        predicted, interval = model.predict(queries), model.predict_interval(queries, kind="run", level=LEVEL)
        hits.append((interval.lower <= actual) & (actual <= interval.upper))
        widths.append((interval.upper - interval.lower) / 2.0 / np.abs(predicted))
        errors.append(np.abs(predicted / actual - 1.0))
    return float(np.concatenate(hits).mean()), float(np.median(np.concatenate(widths))), float(np.concatenate(errors).mean())


@pytest.mark.parametrize("device", ["1080ti", "K40", "M60", "k80"])
def test_convolution_layers_are_covered(shared_data: Any, device: str) -> None:
    """Ten folds of random layers; the normal interval covers 87 to 88 %."""
    table = pd.read_csv(shared_data / "mlpredict_cdec" / "convolution.csv.gz")
    table = table[table["device"] == device].head(3000).reset_index(drop=True)
    side = np.where(table["padding"] == 1, table["input_size"], (table["input_size"] - table["kernel_size"] + 1).clip(lower=1))
    frame = pd.DataFrame(
        {
            "m": table["batch_size"] * np.ceil(side / table["stride"]) ** 2,
            "n": table["channels_out"].astype(float),
            "k": (table["channels_in"] * table["kernel_size"] ** 2).astype(float),
            "inputs": (table["batch_size"] * table["input_size"] ** 2 * table["channels_in"]).astype(float),
            "backward": (table["optimizer"] > 0).astype(float),
        }
    )
    terms = ["m*n*k", "m*n", "m*k", "n*k", "m", "n", "k", "inputs"]
    terms += [f"{term}*backward" for term in terms] + ["backward"]
    rows = np.arange(len(frame))
    share, width, mape = covered(frame, table["time_median_ms"].to_numpy(), rows, grouped_folds(rows, 10, 1), terms)
    assert 0.92 <= share <= 0.98
    assert width <= 3.0 * mape


def test_gpt_iterations_of_an_unseen_model_size_are_covered(shared_data: Any) -> None:
    """Composed physical terms; whole model sizes (hidden size, layers) are left out, inside the fit too."""
    t = pd.read_csv(shared_data / "vtrain" / "single_node.csv").astype(float)
    layers, hidden, batch = t["n_layers"], t["hidden_size"], t["global_batch_size"]
    weights = 12.0 * layers * hidden**2 + 51200.0 * hidden
    chunks = batch / t["data_parallel"] / t["micro_batch_size"]
    compute = batch * t["sequence_length"] * (6.0 * weights + 12.0 * layers * hidden * t["sequence_length"]) / t["n_gpus"]
    shared = batch / t["data_parallel"] * t["sequence_length"] * hidden * layers / t["pipeline_parallel"]
    split = (t["tensor_parallel"] - 1.0) / t["tensor_parallel"]
    stages = t["pipeline_parallel"] - 1.0
    local = weights / t["tensor_parallel"] / t["pipeline_parallel"]
    frame = pd.DataFrame(
        {
            "compute": compute,
            "bubble": compute * stages / chunks,
            "tensor": shared * split,
            "tensor_bubble": shared * split * stages / chunks,
            "data": local * (t["data_parallel"] - 1.0) / t["data_parallel"],
            "optimizer": local,
            "activations": shared / t["tensor_parallel"],
            "steps": chunks * layers / t["pipeline_parallel"],
            "tensor_steps": (chunks + stages) * layers / t["pipeline_parallel"] * (t["tensor_parallel"] > 1.0),
        }
    )
    groups = pd.factorize(hidden.astype(str) + "/" + layers.astype(str))[0]
    share, width, mape = covered(frame, t["iteration_ms"].to_numpy(), groups, leave_one_group_out(groups))
    assert mape <= 0.10
    assert 0.92 <= share <= 0.98
    assert width <= 3.0 * mape
