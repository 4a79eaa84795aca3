"""Figures 12 and 13: windows, optimum and cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from mlperf.core.errors import DataError
from mlperf.report.figures.heatmap import FRAME, three_digits
from mlperf.report.paper.planes import caption, first_drawings, second_drawings
from mlperf.report.paper.result import Drawing
from mlperf.specs import load_machine
from mlperf.studies.paper.figure_inputs import FigureInputs
from mlperf.studies.paper.planes import Plane, first_plane, second_plane

pytestmark = pytest.mark.slow

WINDOW = (40.0, 80.0)


def frames(drawing: Drawing) -> list[list[tuple[float, float]]]:
    """Corners of the frame in each panel."""
    return [
        [patch.get_xy() for patch in axes.patches if patch.get_edgecolor()[:3] == pytest.approx(rgb(FRAME))]
        for axes in drawing.figure.axes[:2]
    ]


def rgb(color: str) -> tuple[float, ...]:
    return tuple(int(color[place : place + 2], 16) / 255 for place in (1, 3, 5))


@pytest.fixture(scope="module")
def of_runs(runs_material: FigureInputs) -> Drawing:
    (drawing,) = first_drawings(replace(runs_material, window=WINDOW))
    return drawing


def test_the_window_and_the_fastest_in_it(of_runs: Drawing) -> None:
    table = of_runs.data
    inside = table["mean_minibatch_size"].between(*WINDOW)
    assert (table["in_window"] == inside).all()
    best = table[table["is_best"]]
    assert best.index.tolist() == [table.loc[inside, "epoch_s"].idxmin()]
    place = (best["n_nodes"].iloc[0] - 1, best["subbatch_size"].iloc[0] - 1)
    assert frames(of_runs) == [[place], [place]]
    assert f"{best['n_nodes'].iloc[0]} nodes with sub-batch {best['subbatch_size'].iloc[0]}" in of_runs.caption


def test_the_window_is_told_as_it_was_asked_for(of_runs: Drawing) -> None:
    plane = Plane("cnn00", "cnn00", "measured", of_runs.data, (103.5, 172.5), "predicted")
    assert "mini-batch in 103.5 to 172.5 samples" in caption(plane, "min")


def test_every_cell_is_coloured_numbered_and_pale_where_it_should_be(of_runs: Drawing) -> None:
    table = of_runs.data
    for axes in of_runs.figure.axes[:2]:
        assert len(axes.texts) == len(table) == axes.collections[0].get_array().size
        assert [len(cells.get_paths()) for cells in axes.collections if cells.get_alpha()] == [(~table["in_window"]).sum()]
    lower = np.asarray(of_runs.figure.axes[1].collections[0].get_array())
    assert lower[3, 1] == pytest.approx(
        table.loc[(table["n_nodes"] == 2) & (table["subbatch_size"] == 4), "mean_minibatch_size"].iloc[0]
    )


def test_configurations_that_were_run_are_predicted_as_measured(runs_material: FigureInputs, of_runs: Drawing) -> None:
    runs = runs_material.campaign.table("runs")
    own = runs[runs["n_gpus_per_node"] == 2].groupby(["n_nodes", "subbatch_size"])["mean_minibatch_size"].mean()
    found = of_runs.data.set_index(["n_nodes", "subbatch_size"])["mean_minibatch_size"]
    assert np.allclose(found.loc[own.index], own, rtol=0.03)


def test_emulated_runs_are_named_so(of_runs: Drawing) -> None:
    assert of_runs.mode == "emulated gradient+memory+network x5"
    assert of_runs.mode in of_runs.caption
    assert "predicted" in of_runs.caption


def test_the_second_machine_is_another_mode_or_campaign(runs_material: FigureInputs, mixed_material: FigureInputs) -> None:
    both = replace(runs_material, second=mixed_material.campaign)
    (drawing,) = second_drawings(both)
    assert drawing.mode == "emulated gradient+memory+network x5"
    assert second_plane(both).window == first_plane(runs_material).window
    with pytest.raises(DataError, match="second machine"):
        second_drawings(runs_material)


def test_a_campaign_of_kernels_is_searched_on_each_machine(small_material: FigureInputs) -> None:
    machines = tuple(load_machine(name) for name in ("cpu-cluster", "kfc"))
    material = replace(small_material, machines=machines, cnns=("alexnet",), window=(20.0, 60.0))
    planes = [first_plane(material), second_plane(material)]
    assert [plane.title for plane in planes] == ["alexnet on cpu-cluster, 2 GPUs a node", "alexnet on kfc, 8 GPUs a node"]
    for plane in planes:
        table = plane.table
        assert (table["in_window"] == (table["feasible"] & table["mean_minibatch_size"].between(20, 60))).all()
        assert table.loc[table["is_best"], "epoch_s"].tolist() == [table.loc[table["in_window"], "epoch_s"].min()]


@pytest.mark.parametrize(
    ("value", "text"), [(0.1234, "0.123"), (9.876, "9.88"), (98.76, "98.8"), (987.6, "988"), (12345.0, "12.3k")]
)
def test_numbers_in_cells_have_three_digits(value: float, text: str) -> None:
    assert three_digits(value) == text
