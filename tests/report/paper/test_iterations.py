"""Figures 9 to 11 against runs.csv and components.csv of runs whose costs are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from mlperf.core.errors import DataError
from mlperf.report.paper.breakdowns import part_drawings
from mlperf.report.paper.iterations import gpu_drawings, update_drawings
from mlperf.report.paper.result import Drawing
from mlperf.studies.paper.figure_inputs import FigureInputs

pytestmark = pytest.mark.slow

SETTING = ["cnn", "n_nodes", "n_gpus_per_node", "subbatch_size"]
MAKERS = {"gpu_iteration_s": gpu_drawings, "update_iteration_s": update_drawings}


@pytest.mark.parametrize("output", list(MAKERS))
def test_points_are_means_and_whiskers_the_ends_over_repeats(runs_material: FigureInputs, output: str) -> None:
    (drawing,) = MAKERS[output](runs_material)
    runs = runs_material.campaign.table("runs").groupby(SETTING)[output].agg(["mean", "min", "max", "size"])
    found = drawing.data.set_index(SETTING)[["measured_s", "min_s", "max_s", "n_runs"]]
    assert len(found) == len(runs) == 12
    assert np.allclose(found.loc[runs.index], runs)


@pytest.mark.parametrize("output", list(MAKERS))
def test_predictions_find_the_known_costs_without_the_setting(runs_material: FigureInputs, output: str) -> None:
    """The runs are solutions of the equations but for one percent of noise on their outputs."""
    (drawing,) = MAKERS[output](runs_material)
    error = drawing.data["predicted_s"] / drawing.data["measured_s"] - 1
    assert np.abs(error).max() < 0.03
    assert "trained on the other settings" in drawing.caption


def test_a_panel_a_number_of_gpus_a_point_a_setting(runs_material: FigureInputs) -> None:
    (drawing,) = gpu_drawings(runs_material)
    panels = drawing.figure.axes
    assert [axes.get_title() for axes in panels] == ["net, 1 GPU a node", "net, 2 GPUs a node"]
    lines = [line for axes in panels for line in axes.lines]
    for label in ("_measured", "_predicted"):
        own = [line for line in lines if line.get_label() == label and line.get_linestyle() != "None"]
        assert sum(len(line.get_xdata()) for line in own) == len(drawing.data)
    ends = np.concatenate([line.get_ydata() for line in lines if line.get_label() == "_whiskers"])
    unit = 1e3 if "ms" in panels[0].get_ylabel() else 1.0
    assert np.nanmax(ends) == pytest.approx(unit * drawing.data["max_s"].max())


def test_real_and_emulated_runs_do_not_share_a_figure(mixed_material: FigureInputs) -> None:
    drawings = update_drawings(mixed_material)
    assert [drawing.mode for drawing in drawings] == ["emulated gradient+memory+network x5", "real"]
    for drawing in drawings:
        assert set(drawing.data["mode"]) == {drawing.mode}
        assert f"Mode: {drawing.mode}" in drawing.caption
    assert "share cores" in drawings[1].caption
    assert "share cores" not in drawings[0].caption


def test_too_few_settings_are_drawn_without_a_prediction(mixed_material: FigureInputs) -> None:
    real = gpu_drawings(mixed_material)[1]
    alone = real.data["predicted_s"].isna()
    assert alone.sum() >= 2, "two settings of one node each teach nothing of the third's sub-batch or GPUs"
    assert "no prediction of some" in real.caption


def test_a_network_that_was_not_run_is_an_error(runs_material: FigureInputs) -> None:
    with pytest.raises(DataError, match="expected one of net"):
        replace(runs_material, cnns=("another",))


@pytest.fixture(scope="module")
def parts(runs_material: FigureInputs) -> Drawing:
    (drawing,) = part_drawings(runs_material)
    return drawing


def test_parts_are_the_components_of_one_setting(runs_material: FigureInputs, parts: Drawing) -> None:
    table = parts.data
    setting = table[SETTING].drop_duplicates()
    assert len(setting) == 1
    assert setting["n_nodes"].iloc[0] == 4
    components = runs_material.campaign.table("components").merge(setting, on=SETTING)
    found = table.set_index("component")["measured_s"]
    assert len(found) == 16
    assert found["compute_gradient"] == pytest.approx(components["compute_gradient_s"].mean())
    fetched = components["fetch_weights_s"] * components["fetch_probability"]
    assert found["fetch_weights"] == pytest.approx(fetched.mean())
    added = components["sum_gradient_s"] * components["n_gpus_per_node"] * components["ready_probability"]
    assert found["sum_gradient"] == pytest.approx(added.mean())


def test_parts_add_up_to_the_iteration_of_their_thread(runs_material: FigureInputs, parts: Drawing) -> None:
    runs = runs_material.campaign.table("runs").merge(parts.data[SETTING].drop_duplicates(), on=SETTING)
    sums = parts.data.groupby("activity")[["measured_s", "predicted_s"]].sum()
    for activity, output in (("gpu", "gpu_iteration_s"), ("update", "update_iteration_s")):
        assert np.allclose(sums.loc[activity], runs[output].mean(), rtol=0.03)


def test_there_is_a_bar_for_every_part_that_takes_time(parts: Drawing) -> None:
    for axes, activity in zip(parts.figure.axes, ("gpu", "update"), strict=True):
        table = parts.data[parts.data["activity"] == activity]
        unit = 1e3 if "ms" in axes.get_xlabel() else 1.0
        widths = np.array([patch.get_width() for patch in axes.patches])
        takes_time = (table[["measured_s", "predicted_s"]] > 0.0).any(axis=1)
        assert len(widths) == 2 * takes_time.sum() >= 14
        assert widths.sum() == pytest.approx(unit * table[["measured_s", "predicted_s"]].sum().sum())
