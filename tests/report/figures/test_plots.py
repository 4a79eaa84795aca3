"""Figures: what is drawn where, and that the same figure gives the same bytes."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from mlperf.core.errors import UsageError
from mlperf.report.figures.figures import figure_bytes, figure_svg, save_figure
from mlperf.report.figures.heatmap import Plane, search_maps
from mlperf.report.figures.html import Picture, html_page
from mlperf.report.figures.plots import component_bars, measured_predicted, residuals
from mlperf.report.text.views import Section

pytestmark = pytest.mark.slow


def times() -> tuple[np.ndarray, np.ndarray]:
    measured = np.array([0.01, 0.1, 1.0, 10.0])
    return measured, measured * np.array([1.1, 0.9, 1.0, 1.0])


def test_points_bars_and_error_are_where_they_belong() -> None:
    measured, predicted = times()
    figure = measured_predicted(measured, predicted, lower_s=predicted * 0.5, upper_s=predicted * 2.0)
    (axes,) = figure.axes
    points = axes.collections[-1].get_offsets()
    assert np.allclose(points, np.column_stack([measured, predicted]) / points[0, 0] * measured[0])
    assert "MAPE 5.00 %" in axes.texts[0].get_text()


def test_each_group_has_its_own_colour_up_to_eight() -> None:
    measured, predicted = times()
    axes = residuals(measured, predicted, groups=["a", "b", "a", "c"], halves_differ=0.02).axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["halves of the rounds differ", "a", "b", "c"]


def test_bars_add_up_and_small_parts_are_gathered() -> None:
    parts = {f"part_{number}": float(number) for number in range(1, 11)}
    axes = component_bars({"one": parts}, n_named=3).axes[0]
    ends = [patch.get_x() + patch.get_width() for patch in axes.patches]
    assert max(ends) == pytest.approx(sum(parts.values()))
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["part 10", "part 9", "part 8", "other"]


def pale_cells(axes) -> list[tuple[float, float]]:
    """Lower left corners of the cells under a veil."""
    return sorted(tuple(path.vertices.min(axis=0)) for cells in axes.collections if cells.get_alpha() for path in cells.get_paths())


def test_search_map_blanks_veils_and_frames() -> None:
    nodes, subbatch = np.array([1, 2, 4]), np.array([1, 2])
    epoch_s = np.array([[6.0, 3.0, 2.0], [5.0, 2.5, 1.5]])
    feasible = np.array([[True, True, True], [True, True, False]])
    window = np.array([[False, True, False], [False, False, True]])
    axes = search_maps([Plane(nodes, subbatch, epoch_s, window, feasible, best=(2, 1))]).axes[0]
    drawn = axes.collections[0].get_array()
    assert np.ma.getmaskarray(drawn).sum() + np.isnan(np.ma.getdata(drawn)).sum() >= 1
    assert pale_cells(axes) == [(0, 0), (0, 1), (1, 1), (2, 0)]
    assert [patch.get_xy() for patch in axes.patches] == [(1, 0)]


def test_the_same_figure_gives_the_same_bytes(tmp_path: Path) -> None:
    measured, predicted = times()
    first, second = (figure_bytes(measured_predicted(measured, predicted), "svg") for _ in range(2))
    assert first == second
    save_figure(measured_predicted(measured, predicted), tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UsageError, match="expected one of"):
        save_figure(measured_predicted(measured, predicted), tmp_path / "a.gif")


def test_a_page_fetches_nothing_and_escapes_names() -> None:
    pd = pytest.importorskip("pandas")
    measured, predicted = times()
    frame = pd.DataFrame({"cnn": ["<b>"], "epoch_s": [2.0]})
    page = html_page(
        "A & B", [Section("Table", frame), Section("Text", text="a < b"), Picture("Plot", residuals(measured, predicted), "c")]
    )
    assert "&lt;b&gt;" in page
    assert "A &amp; B" in page
    assert "<svg" in page
    assert 'src="' not in page
    assert "<link" not in page
    assert "<script" not in page
    assert figure_svg(residuals(measured, predicted)).startswith("<svg")


def test_ticks_of_logarithmic_axes_are_letters(tmp_path: Path) -> None:
    """No text is a formula, because names are not; so powers are not either."""
    figure = measured_predicted(np.array([1e-6, 1e-3, 10.0]), np.array([2e-6, 2e-3, 9.0]))
    save_figure(figure, tmp_path / "a.png")
    figure.draw_without_rendering()
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert "10\N{SUPERSCRIPT TWO}" in labels or "10\N{SUPERSCRIPT MINUS}\N{SUPERSCRIPT TWO}" in labels
    assert not [label for label in labels if "$" in label or "\\" in label]


def test_long_names_and_titles_leave_room_for_bars(tmp_path: Path) -> None:
    """Labels of more letters than the picture has would shrink the bars to nothing, and say so with a warning."""
    parts = {"forward": 0.002, "backward": 0.004, "a part of a long name": 0.001}
    name = "a network of a really long descriptive name, final version {}, 4 x 8 GPUs of a machine of a long name"
    title = "synchronous data parallelism: all-reduce of gradients, overlapped with the backward pass"
    figure = component_bars({name.format(number): parts for number in range(3)}, title=title)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save_figure(figure, tmp_path / "bars.png")
    FigureCanvasAgg(figure).draw()
    (axes,) = figure.axes
    assert axes.get_window_extent().width > figure.bbox.width / 4
    heading = next(text for text in figure.texts if text.get_text().startswith("synchronous"))
    assert figure.bbox.x0 <= heading.get_window_extent().x0
    assert heading.get_window_extent().x1 <= figure.bbox.x1


def test_a_single_cell_has_room_for_labels_and_title(tmp_path: Path) -> None:
    one = np.ones((1, 1), dtype=bool)
    title = "a network of a really long descriptive name, final version, on a machine of a long name, 1 GPUs a node"
    plane = Plane(np.array([2]), np.array([4]), np.array([[8.19]]), one, one, (2, 4), title)
    figure = search_maps([plane])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save_figure(figure, tmp_path / "cell.png")
    FigureCanvasAgg(figure).draw()
    heading = next(text for text in figure.findobj(Text) if text.get_text().startswith("a network"))
    assert heading.get_window_extent().x1 <= figure.bbox.x1
    assert figure.axes[0].yaxis.label.get_window_extent().y0 >= figure.bbox.y0
