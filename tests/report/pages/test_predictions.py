"""Predictions and comparisons as people see them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mlperf.models.uncertainty.intervals import Interval
from mlperf.planning.compare import comparison
from mlperf.planning.run_prediction import Prediction
from mlperf.report.pages.predictions import comparison_sections, prediction_sections, quantity_rows
from mlperf.report.text.views import result_figure, result_text
from mlperf.systems.base.times import RunGrid
from mlperf.systems.sprint.components import COMPONENTS
from mlperf.systems.sprint.outputs import OUTPUTS

EPOCH_S = 2226.0
GPU_S, UPDATE_S = 0.44479, 0.29711


def predicted(n_configs: int) -> Prediction:
    """KFC, 8 nodes, sub-batch 4 (Table 10 of the SPRINT paper, predicted columns), repeated."""

    def several(value: float) -> np.ndarray:
        return np.full(n_configs, value)

    values = {
        "epoch_s": several(EPOCH_S),
        "gpu_iteration_s": several(GPU_S),
        "update_iteration_s": several(UPDATE_S),
        "mean_minibatch_size": several(171.0),
    }
    threads = {"gpu": GPU_S, "update": UPDATE_S}
    parts = {
        activity: {item.name: several(total / 8) for item in COMPONENTS if item.activity == activity}
        for activity, total in threads.items()
    }
    inside = {name: several(1.0).astype(bool) for name in (*OUTPUTS, *(item.name for item in COMPONENTS))}
    inside["allreduce"] = several(0.0).astype(bool)
    return Prediction(
        cnn=("a1",) * n_configs,
        run=RunGrid(*(several(value).astype(int) for value in (8, 8, 4, 1281167))),
        closed="paper",
        **values,
        explained={name: 1.02 * value for name, value in values.items()},
        minibatch_std=several(5.0),
        mean_staleness=several(2.0),
        gpu_breakdown_s=parts["gpu"],
        update_breakdown_s=parts["update"],
        confidence_interval={name: Interval(0.99 * value, 1.01 * value, 0.95) for name, value in values.items()},
        prediction_interval={name: Interval(0.9 * value, 1.1 * value, 0.95) for name, value in values.items()},
        in_domain=inside,
        source={item.name: "assumed" if item.name == "allreduce" else "measured" for item in COMPONENTS},
        flags={"gradient_lock_busy": several(1.0).astype(bool), "fetch_burst": several(0.0).astype(bool)},
    )


def test_one_configuration_is_shown_in_full() -> None:
    text = result_text(predicted(1))
    assert "a1 on 8 nodes x 8 GPUs, sub-batch 4, 1,281,167 samples an epoch" in text
    assert "compute_gradient" in text
    assert "Not measured, taken from the machine's specification: allreduce; intervals do not tell how far that is off." in text
    assert "Flag gradient_lock_busy: 1 of 1" in text
    assert "fetch_burst" not in text


def test_a_time_that_is_but_a_tail_is_shown_as_none() -> None:
    result = predicted(1)
    result.gpu_breakdown_s["lock_gradient_gpu"][0] = 6e-25
    thread = prediction_sections(result)[1].frame
    assert thread is not None
    assert thread.set_index("component").loc["lock_gradient_gpu", "time_s"] == 0.0


def test_a_data_set_that_no_step_can_be_taken_of_is_told() -> None:
    """64 GPUs take 256 samples at once: 255 are less, 256 are not."""
    result = predicted(1)
    told = {}
    for size in (255, 256):
        told[size] = result_text(replace(result, run=replace(result.run, dataset_size=np.array([size]))))
    assert "The data set of 255 samples is less than one step takes (256)" in told[255]
    assert "less than one step" not in told[256]


def test_outputs_carry_both_intervals_in_their_order() -> None:
    outputs = prediction_sections(predicted(1))[0].frame
    epoch = outputs.set_index("output").loc["epoch"]
    assert epoch["linear_model"] == pytest.approx(1.02 * epoch["value"])
    assert epoch["run_low"] < epoch["mean_low"] < epoch["value"] < epoch["mean_high"] < epoch["run_high"]
    assert epoch["value"] == EPOCH_S
    text = result_text(predicted(1))
    assert "37.10 min" in text
    assert "444.8 ms" in text
    assert "2,226 s" in result_text(predicted(1), "s")


def test_several_configurations_are_one_row_each() -> None:
    frame = prediction_sections(predicted(3))[0].frame
    assert len(frame) == 3
    assert frame["epoch_low_s"].tolist() == pytest.approx([0.9 * EPOCH_S] * 3)


def test_bars_of_both_threads_end_at_their_iteration_times() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    axes = result_figure(predicted(1)).axes[0]
    ends = sorted({round(patch.get_y(), 6): patch.get_x() + patch.get_width() for patch in axes.patches}.values())
    assert ends == pytest.approx([1e3 * UPDATE_S, 1e3 * GPU_S])


def compared() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "cnn": ["a", "b"],
            "subbatch_size": [1, 2],
            "quantity": ["step_s"] * 2,
            "measured": [0.1, 0.2],
            "predicted": [0.11, 0.2],
            "lower": [0.09, 0.21],
            "upper": [0.12, 0.22],
            "in_domain": [True, False],
            "in_training": [False, True],
            "relative_error": [0.1, 0.0],
            "inside": [True, False],
        }
    )


def test_a_comparison_names_units_and_prints_errors_in_percent() -> None:
    rows = quantity_rows("step_s", compared())
    assert {"measured_s", "predicted_s", "lower_s", "upper_s"} <= set(rows.columns)
    result = comparison(compared())
    assert [section.title for section in comparison_sections(result)] == ["Predicted against measured", "step"]
    text = result_text(result)
    assert "measured (ms)" in text
    assert "5.00 %" in text
