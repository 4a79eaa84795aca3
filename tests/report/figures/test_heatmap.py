"""Search planes: what colours their cells have."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from mlperf.report.figures.heatmap import LABELLED_CELLS, Plane, scale_ticks, search_maps


def drawn(n_nodes: int) -> tuple[float, int]:
    """The least brightness of the colours of a plane of 10 rows, and how many cells have numbers."""
    values = np.geomspace(1.0, 100.0, 10 * n_nodes).reshape(10, n_nodes)
    whole = np.ones(values.shape, bool)
    axes = search_maps([Plane(np.arange(n_nodes) + 1, np.arange(10) + 1, values, whole, whole)]).axes[0]
    colours = axes.collections[0].get_cmap()(np.linspace(0.0, 1.0, 16))[:, :3]
    return float((colours @ [0.2126, 0.7152, 0.0722]).min()), len(axes.texts)


def test_colours_stay_light_below_numbers_and_go_to_the_dark_end_where_there_are_none() -> None:
    labelled, without = drawn(LABELLED_CELLS // 10), drawn(LABELLED_CELLS // 10 + 1)
    assert labelled[0] > 0.4
    assert labelled[1] == LABELLED_CELLS
    assert without[0] < 0.15
    assert without[1] == 0


def test_a_colour_scale_of_few_round_values_is_labelled_between_its_ends() -> None:
    assert scale_ticks(np.array([23.1, 81.3])) == [23.1, 30.0, 40.0, 50.0, 60.0, 81.3]
    assert scale_ticks(np.array([1.7, 60.0])) == [2.0, 5.0, 10.0, 20.0, 50.0]
    assert scale_ticks(np.array([11.1])) == [11.1]
    assert scale_ticks(np.array([])) == []
