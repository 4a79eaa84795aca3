"""The first line of predictions, searches and rows names what was asked and the numbers of the result itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.planning.compare import comparison
from mlperf.planning.table_comparison import compare_rows
from mlperf.planning.table_prediction import predict_rows
from mlperf.report.pages.answers import (
    comparison_answer,
    epoch_answer,
    machines_answer,
    outside_parts,
    rows_answer,
    rows_comparison_answer,
    search_answer,
    span_text,
)
from mlperf.specs import load_cnn, load_machine

pytestmark = pytest.mark.slow

JOB = mlperf.JobSpec(dataset_size=60_000, subbatch_size=2, n_nodes=2)


def predicted(model: Any, **sizes: Any) -> Any:
    return mlperf.predict_epoch(model, load_cnn("alexnet"), load_machine("cpu-cluster"), JOB, **sizes)


def test_the_numbers_are_those_of_the_prediction(small_model: Any) -> None:
    result = predicted(small_model)
    text = epoch_answer(result).text()
    assert text.startswith("alexnet on 2 x 2 GPUs of cpu-cluster, sub-batch 2: ")
    minutes = [
        float(found[0]) / 60.0
        for found in (result.epoch_s, *(result.prediction_interval["epoch_s"].lower, result.prediction_interval["epoch_s"].upper))
    ]
    hours = [f"{value / 60.0:.2f}" for value in minutes]
    shown = hours if minutes[0] >= 60 else [f"{value:.3g}" for value in minutes]
    for number in shown:
        assert number in text
    assert "allreduce assumed, not measured" in text
    assert "measured domain" in text


def test_of_several_the_fastest_is_named(small_model: Any) -> None:
    result = predicted(small_model, n_nodes=[1, 2, 4])
    text = epoch_answer(result).text()
    assert "3 configurations: fastest is alexnet on 4 x 2 GPUs of cpu-cluster, " in text


def test_a_minibatch_below_one_is_explained(small_model: Any) -> None:
    result = predicted(small_model, n_nodes=1)
    assert (float(result.mean_minibatch_size[0]) < 1.0) == (
        "below 1: most updates find no finished gradient" in epoch_answer(result).text()
    )


def test_reasons_are_those_of_the_prediction_and_assumed_parts_are_none(small_model: Any) -> None:
    result = mlperf.predict_epoch(small_model, load_cnn("vgg16"), load_machine("cpu-cluster"), JOB)
    rows = result.outside[(result.outside["component"] != "allreduce") & (result.outside["share"] >= 0.01)]
    told = outside_parts(result, 0, ("allreduce",))
    assert [reason.what for reason in told] == rows["why"].tolist()
    assert [reason.share for reason in told] == pytest.approx(rows["share"].tolist())
    assert rows["why"].iloc[0] in epoch_answer(result).text()


def test_without_a_table_of_reasons_the_flags_are_told_with_their_share_of_the_breakdown(small_model: Any) -> None:
    result = replace(predicted(small_model), outside=None)
    table = result.breakdown(0)
    outside = table[~table["in_domain"]]
    assert {reason.what for reason in outside_parts(result, 0)} == {name.replace("_", " ") for name in outside["component"]}
    for reason in outside_parts(result, 0):
        assert reason.share == pytest.approx(outside.set_index("component")["share"][reason.what.replace(" ", "_")])


def test_times_of_another_machine_are_named_before_all_reasons(small_model: Any) -> None:
    result = mlperf.predict_epoch(small_model, load_cnn("alexnet"), load_machine("kfc"), JOB)
    text = epoch_answer(result).text()
    assert "times: model of " in text
    assert "NOT of kfc: processor 'Tesla K80', measured on " in text
    assert text.endswith("; outside the measured domain")
    found = mlperf.search_runs(small_model, load_cnn("alexnet"), load_machine("kfc"), JOB, n_nodes=[1, 2], subbatch_size=[1])
    assert "NOT of kfc" in search_answer(found).text()


def test_several_epochs_have_a_total(small_model: Any) -> None:
    job = replace(JOB, epochs=10)
    result = mlperf.predict_epoch(small_model, load_cnn("alexnet"), load_machine("cpu-cluster"), job)
    assert ", 10 epochs in " in epoch_answer(result).text()


def test_what_was_scaled_is_told(small_model: Any) -> None:
    grid: dict[str, Any] = {"n_nodes": [1, 2], "subbatch_size": [1, 2], "factors": {"barrier_wait": 2.0}}
    cnn, machine = load_cnn("alexnet"), load_machine("cpu-cluster")
    result = predicted(small_model, factors={"sum_gradient": 0.25, "barrier_wait": 2.0})
    assert "sub-batch 2, what if sum_gradient x 0.25, barrier_wait x 2: " in epoch_answer(result).text()
    assert result.to_dict()["factors"] == {"sum_gradient": 0.25, "barrier_wait": 2.0}
    assert "what if" not in epoch_answer(predicted(small_model)).text()
    assert (
        "by epoch time, what if barrier_wait x 2: "
        in search_answer(mlperf.search_runs(small_model, cnn, machine, JOB, **grid)).text()
    )
    both = mlperf.search_machines([(small_model, machine), (small_model, load_machine("kfc"))], cnn, JOB, **grid)
    assert "what if barrier_wait x 2: best is " in machines_answer(both).text()


def test_a_search_names_its_best_row_or_that_there_is_none(small_model: Any) -> None:
    grid: dict[str, Any] = {"n_nodes": [1, 2], "subbatch_size": [1, 2]}
    cnn, machine = load_cnn("alexnet"), load_machine("cpu-cluster")
    found = mlperf.search_runs(small_model, cnn, machine, JOB, **grid)
    best = found.best.iloc[0]
    run = f"best is {best['n_nodes']} x {best['n_gpus_per_node']} GPUs, sub-batch {best['subbatch_size']}: "
    assert run in search_answer(found).text()
    assert "windows" not in search_answer(found).text()
    assert "; outside the measured domain: " in search_answer(found).text()
    empty = mlperf.search_runs(small_model, cnn, machine, JOB, minibatch=(1e8, 1e9), **grid)
    assert "no configuration holds the windows, nearest is " in search_answer(empty).text()
    both = mlperf.search_machines(
        [(small_model, machine), (small_model, load_machine("kfc"))], cnn, JOB, minibatch=(0.0, 1e9), **grid
    )
    assert f"best is {both.best['machine'].iloc[0]}, " in machines_answer(both).text()


def test_a_comparison_tells_error_coverage_and_domain(small_model: Any, small_campaign: Any) -> None:
    result = mlperf.compare_runs(small_model, small_campaign)
    text = comparison_answer(result).text()
    assert f"{100 * result.errors['step_s'].mape:.2f} %" in text or f"{100 * result.errors['step_s'].mape:.1f} %" in text
    n_inside, n_rows = int(result.table["in_domain"].sum()), len(result.table)
    assert f"{ ({0: 'none', n_rows: 'all'}.get(n_inside, n_inside)) } " in text
    assert f"{n_rows} inside the measured domain" in text


@pytest.mark.parametrize(
    ("in_domain", "told"),
    [
        ([True, False, True, False], "1 of 2 inside the measured domain"),
        ([True, True, True, False], "holds 50.0 %, all 2 inside the measured domain, times that the device works"),
    ],
)
def test_a_measurement_by_two_clocks_counts_once(in_domain: list[bool], told: str) -> None:
    rows = {
        "quantity": ["step_s", "step_s", "busy_s", "busy_s"],
        "measured": [1.0, 2.0, 1.0, 2.0],
        "predicted": [1.1, 2.2, 1.1, 2.2],
    }
    keys = {"cnn": ["a", "b"] * 2, "subbatch_size": 1, "relative_error": 0.1, "inside": [True, False] * 2, "in_domain": in_domain}
    text = comparison_answer(comparison(pd.DataFrame(rows | keys))).text()
    assert text.startswith("2 measurements: ")
    assert told in text


def test_rows_of_a_table() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"size": np.tile(rng.integers(1, 90, 40), 2)})
    rows["time_s"] = 1e-6 * (2.0 + rows["size"]) * np.exp(0.05 * rng.standard_normal(80))
    model = mlperf.train(rows, target="time_s", terms=["size"], method="ols", report="none")
    result = predict_rows(model, rows)
    text = rows_answer(result).text()
    assert text.startswith("80 rows: time_s ")
    assert f"{100 * np.abs(result.relative_error).mean():.2f} % on average where it was measured, all 80 inside" in text
    compared = compare_rows(model, rows)
    assert f"time_s is missed by {100 * compared.errors.mape:.2f} % on average" in rows_comparison_answer(compared).text()
    assert "on average" not in rows_answer(predict_rows(model, rows[["size"]])).text()


def test_a_rate_is_no_time() -> None:
    rows = pd.DataFrame({"size": np.arange(1, 41), "samples_per_s": 1e5 + 2e3 * np.arange(1, 41)})
    model = mlperf.train(rows, target="samples_per_s", terms=["size"], method="ols", report="none")
    assert rows_answer(predict_rows(model, rows)).text().startswith("40 rows: samples_per_s 102,000 to 180,000, missed by")


def test_a_span_is_in_one_unit() -> None:
    assert span_text(np.array([1e-6, 9e-6, 12e-6]), is_time=True) == "1.00 to 12.0 us"
    assert span_text(np.array([3.0, 3.0]), is_time=False) == "3.00"
