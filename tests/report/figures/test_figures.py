"""Letters and names of any kind in a picture."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from mlperf.report.figures.figures import (
    apart,
    figure_bytes,
    in_short,
    legend_beside,
    log_marks,
    round_values,
    single_axes,
    time_unit,
)

pytest.importorskip("matplotlib")


def test_a_long_name_keeps_its_beginning_and_its_end() -> None:
    assert in_short("resnet50") == "resnet50"
    assert in_short("x" * 32) == "x" * 32
    names = [f"a model of a long name, variant {number}" for number in range(10, 20)]
    assert {len(in_short(name)) for name in names} <= set(range(28, 33))
    assert len({in_short(name) for name in names}) == 10
    assert in_short("GPU v2 with an exceedingly long name (80 GB)", 16) == "GPU v2 w…(80 GB)"


def test_signs_of_any_script_are_drawn_without_a_word() -> None:
    """Where no font has them they are boxes, which a reader sees; a warning with a path of the package helps nobody."""
    with single_axes(2.0, 2.0) as (figure, axes), warnings.catch_warnings():
        axes.set_title("深層学習 сеть ξ हिन्दी")
        warnings.simplefilter("error")
        assert figure_bytes(figure, "png").startswith(b"\x89PNG")


def test_scale_values_are_round() -> None:
    assert round_values(np.array([0.8, 33.0])) == [1.0, 2.0, 5.0, 10.0, 20.0]
    assert round_values(np.zeros(0)) == []


def test_a_scale_without_two_round_values_is_labelled_at_its_ends() -> None:
    assert round_values(np.array([2.104, 3.0, 4.906])) == [2.104, 4.906]
    assert round_values(np.array([1.7, 2.5])) == [1.7, 2.5]
    assert round_values(np.array([1.7])) == [1.7]


def test_logarithmic_axes_of_few_decades_have_plain_labels() -> None:
    """Matplotlib names one power of ten there, or writes ``6e-01`` beside it."""
    with single_axes(6.4, 4.2) as (figure, axes):
        axes.set(xscale="log", yscale="log", xlim=(7.0, 70.0), ylim=(0.3, 4.0))
        figure_bytes(figure, "svg")
        assert [label.get_text() for label in axes.get_xticklabels()] == ["10", "20", "50"]
        assert [label.get_text() for label in axes.get_yticklabels()] == ["0.5", "1", "2"]
        assert not axes.xaxis.get_minorticklocs().size


def test_logarithmic_axes_are_marked_as_closely_as_there_is_room() -> None:
    assert log_marks(0.9, 110.0, 5.0) == [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
    assert log_marks(0.9, 110.0, 2.5) == []
    assert log_marks(1.3, 1.9, 2.5) == [1.4, 1.6, 1.8]
    assert log_marks(1e-9, 2e-9, 5.0) == []
    assert log_marks(0.0, 1.0, 5.0) == []


def test_labels_that_a_figure_has_set_on_a_logarithmic_axis_stay() -> None:
    with single_axes(6.4, 4.2) as (figure, axes):
        axes.set(xscale="log", xlim=(1.0, 8.0))
        axes.set_xticks([1, 3], labels=["one", "three"])
        figure_bytes(figure, "svg")
        assert [label.get_text() for label in axes.get_xticklabels()] == ["one", "three"]


def test_labels_of_an_axis_keep_apart_from_the_largest_down() -> None:
    values = np.array([1.0, 2.0, 4.0, 50.0, 100.0])
    assert apart(values, values) == [4.0, 50.0, 100.0]
    assert apart(values, np.log(values)) == values.tolist()
    assert apart(values, values, 0.6) == [4.0, 100.0]
    assert apart(values[:1], values[:1]) == [1.0]


def test_an_axis_of_times_has_the_unit_of_the_middle_one() -> None:
    assert time_unit(np.array([0.0, 2e-5]), [3e-5]) == ("us", 1e-6)
    assert time_unit(np.array([0.2, 90.0, 100.0])) == ("min", 60.0)
    assert time_unit(np.array([np.nan])) == ("s", 1.0)


def test_a_legend_beside_the_axes_covers_nothing() -> None:
    with single_axes() as (figure, axes):
        axes.bar([0, 1], [1.0, 2.0], label="a name of some length")
        legend_beside(axes)
        figure.draw_without_rendering()
    assert axes.get_legend().get_window_extent().x0 >= axes.get_window_extent().x1
    assert axes.get_legend().get_window_extent().x1 <= figure.bbox.x1
