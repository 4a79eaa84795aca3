"""Figures 7 and 8 against steps.csv and kernels.csv."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("matplotlib")

from mlperf.datasets import read_campaign
from mlperf.planning.compare import compare_runs
from mlperf.report.paper.gradients import share_drawings, step_drawings
from mlperf.studies.model_files import load_model
from mlperf.studies.paper.figure_inputs import FigureInputs
from mlperf.studies.paper.gradients import gradient_steps, relative_errors_of, step_spread

pytestmark = pytest.mark.slow

HELD_OUT = ["cnn05", "res03"]


@pytest.fixture(scope="module")
def steps(small_material: FigureInputs) -> pd.DataFrame:
    (drawing,) = step_drawings(small_material)
    return drawing.data


def test_whiskers_are_the_least_and_the_greatest_round(small_material: FigureInputs, steps: pd.DataFrame) -> None:
    measured = small_material.campaign.table("steps").groupby(["cnn", "subbatch_size"])["step_s"].agg(["median", "min", "max"])
    assert len(steps) == len(measured)
    found = steps.set_index(["cnn", "subbatch_size"])[["measured_s", "min_s", "max_s"]]
    assert np.allclose(found.loc[measured.index], measured)


def test_networks_that_the_model_knows_are_predicted_from_left_out_folds(small_material: FigureInputs, steps: pd.DataFrame) -> None:
    left_out = small_material.model.score.predictions.set_index(["cnn", "subbatch_size"])["learnt_s"]
    known = steps[~steps["cnn"].isin(HELD_OUT)].set_index(["cnn", "subbatch_size"])["predicted_s"]
    assert np.allclose(known, left_out.loc[known.index], equal_nan=True)
    assert known.notna().any()


def test_networks_that_the_model_left_out_are_predicted_by_it(small_material: FigureInputs, steps: pd.DataFrame) -> None:
    compared = compare_runs(small_material.model, small_material.campaign, cnns=HELD_OUT).table
    unseen = steps[steps["cnn"].isin(HELD_OUT)].merge(compared, on=["cnn", "subbatch_size"])
    assert len(unseen) == len(compared)
    assert np.allclose(unseen["predicted_s"], unseen["predicted"])


def test_every_step_is_a_point_and_the_lines_are_some_networks(small_material: FigureInputs) -> None:
    (drawing,) = step_drawings(small_material)
    left, right = drawing.figure.axes[:2]
    (points,) = [line for line in right.lines if line.get_marker() == "o"]
    n_predicted = int(drawing.data["predicted_s"].notna().sum())
    assert len(points.get_xdata()) == n_predicted
    assert f"{len(drawing.data) - n_predicted} of {len(drawing.data)} steps" in drawing.caption
    named = [line.get_label() for line in left.lines if not line.get_label().startswith("_")]
    assert named
    assert set(named) <= set(drawing.data["cnn"])
    assert "other networks" in drawing.caption


def test_the_bars_of_kernels_add_up_to_their_calls(small_material: FigureInputs) -> None:
    (drawing,) = share_drawings(replace(small_material, cnns=("cnn05",)))
    kernels = small_material.campaign.table("kernels")
    size = 4 if (kernels.loc[kernels["cnn"] == "cnn05", "subbatch_size"] == 4).any() else 2
    own = kernels[(kernels["cnn"] == "cnn05") & (kernels["subbatch_size"] == size)]
    sums = own.groupby(["kernel", "layer"])["cpu_s"].median().groupby("kernel").sum()
    assert np.allclose(drawing.data.set_index("kernel")["measured_s"].loc[sums.index], sums)
    (axes,) = drawing.figure.axes
    bars = [patch for patch in axes.patches if patch.get_height() > 0.5]
    measured = [bar.get_width() for bar in bars if bar.get_y() + bar.get_height() / 2 == pytest.approx(0.0)]
    unit = 1e3 if "ms" in axes.get_xlabel() else 1.0
    assert sum(measured) == pytest.approx(unit * sums.sum())
    assert "has not seen" in drawing.caption


def test_a_network_of_the_training_set_is_left_out_anew(small_material: FigureInputs) -> None:
    (drawing,) = share_drawings(replace(small_material, cnns=("cnn01",)))
    assert f"fitted on the {len(small_material.campaign.cnns) - 1} other networks" in drawing.caption


def test_on_a_device_lines_are_the_stream_and_bars_the_busy_time() -> None:
    """Steps as training waits for them against predictions of that; kernels add up to what the device works."""
    material = FigureInputs(read_campaign("gpu-h100-layers"), given=load_model("gpu-h100-layers"))
    steps = material.campaign.table("steps").groupby(["cnn", "subbatch_size"])[["wall_s", "cpu_s"]].median()
    waited, busy = (step_spread(material, busy=busy).set_index(["cnn", "subbatch_size"])["measured_s"] for busy in (False, True))
    assert np.allclose(waited.loc[steps.index], steps["wall_s"])
    assert np.allclose(busy.loc[steps.index], steps["cpu_s"])
    table, how = gradient_steps(material)
    assert "fitted on other networks" in how
    assert relative_errors_of(table).mean() < 0.1
