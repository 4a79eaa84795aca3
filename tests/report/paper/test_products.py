"""Figures 4 and 6 against the table of products."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from mlperf.report.paper.products import error_drawings, plane_drawings
from mlperf.report.text.numbers import percent_text
from mlperf.studies.paper.figure_inputs import FigureInputs


def test_the_plane_holds_the_median_time_of_every_size_at_one_k(small_material: FigureInputs) -> None:
    (drawing,) = plane_drawings(small_material)
    sgemm = small_material.campaign.table("sgemm")
    table = drawing.data
    pair, k = table["trans"].iloc[0], table["k"].iloc[0]
    measured = sgemm[(sgemm["trans"] == pair) & (sgemm["k"] == k) & (sgemm["purpose"] == "grid")]
    assert len(table) == len(measured[["m", "n"]].drop_duplicates())
    assert table["k"].nunique() == 1
    for row in table.iloc[::17].itertuples():
        times = measured.loc[(measured["m"] == row.m) & (measured["n"] == row.n), "cpu_s"]
        assert row.time_s == pytest.approx(np.median(times))
        assert row.flop_per_s == pytest.approx(2 * row.m * row.n * row.k / np.median(times))


def test_the_plane_colours_one_cell_a_size(small_material: FigureInputs) -> None:
    (drawing,) = plane_drawings(small_material)
    rate, time = (axes.collections[0].get_array() for axes in drawing.figure.axes[:2])
    assert np.isfinite(np.ma.filled(rate, np.nan)).sum() == len(drawing.data)
    assert np.nanmax(np.ma.filled(time, np.nan)) == pytest.approx(1e3 * drawing.data["time_s"].max())
    assert f"k = {drawing.data['k'].iloc[0]}" in drawing.caption


def test_errors_are_of_points_that_nothing_was_fitted_on(small_material: FigureInputs) -> None:
    (drawing,) = error_drawings(small_material)
    sgemm = small_material.campaign.table("sgemm")
    tests = sgemm[sgemm["purpose"] == "validation"].groupby(["trans", "m", "n", "k"])["cpu_s"].median()
    table = drawing.data.set_index(["trans", "m", "n", "k"])
    assert np.allclose(table["time_s"], tests.loc[table.index])
    assert len(table) == len(tests)
    assert np.allclose(table["local_error"], table["local_s"] / table["time_s"] - 1)
    assert percent_text(float(np.quantile(np.abs(table["local_error"]), 0.75))) in drawing.caption


def test_the_curves_rise_by_one_point_each(small_material: FigureInputs) -> None:
    (drawing,) = error_drawings(small_material)
    local, overall = drawing.figure.axes[1].lines[:2]
    assert len(local.get_xdata()) == len(overall.get_xdata()) == len(drawing.data)
    assert np.allclose(local.get_xdata(), 100 * np.sort(np.abs(drawing.data["local_error"])))
