"""Figure 5 against kernels.csv."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from mlperf.report.paper.kernel_lines import line_drawings
from mlperf.studies.paper.figure_inputs import FigureInputs
from mlperf.studies.paper.kernel_lines import kernel_lines

pytestmark = pytest.mark.slow


def test_points_are_medians_and_lines_least_squares_through_all_calls(small_material: FigureInputs) -> None:
    kernels = small_material.campaign.table("kernels")
    table = kernel_lines(kernels, "numpy", seed=1)
    own = kernels[kernels["kernel"] == "im2col"]
    calls = own.groupby(["cnn", "subbatch_size", "layer", "access_bytes"])["cpu_s"].agg(["median", "min", "max"]).reset_index()
    slope, constant = np.polyfit(calls["access_bytes"], calls["median"], 1)
    drawn = table[table["kernel"] == "im2col"]
    assert np.allclose(drawn["line_s"], slope * drawn["access_bytes"] + constant, rtol=1e-6)
    merged = drawn.merge(calls, on=["cnn", "subbatch_size", "layer", "access_bytes"])
    assert np.allclose(merged["time_s"], merged["median"])
    assert np.allclose(merged[["min_s", "max_s"]], merged[["min", "max"]])
    assert drawn["relative_access"].max() == 1.0 == (drawn["access_bytes"] / calls["access_bytes"].max()).max()


def test_points_come_from_all_over_the_sizes(small_material: FigureInputs) -> None:
    drawn = kernel_lines(small_material.campaign.table("kernels"), "numpy", seed=1)
    in_stretch = drawn.groupby(["kernel", (20 * drawn["relative_access"]).astype(int).clip(upper=19)]).size()
    assert in_stretch.max() == 4
    assert drawn.equals(kernel_lines(small_material.campaign.table("kernels"), "numpy", seed=1))


def test_every_row_is_a_point_of_its_kernel(small_material: FigureInputs) -> None:
    (drawing,) = line_drawings(small_material)
    shown = [axes for axes in drawing.figure.axes if axes.get_visible()]
    assert len(shown) == drawing.data["kernel"].nunique()
    points = [line for axes in shown for line in axes.lines if line.get_marker() == "o"]
    assert sum(len(line.get_xdata()) for line in points) == len(drawing.data)
    assert "in-sample" in drawing.caption
