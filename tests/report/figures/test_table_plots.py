"""Figures of tables: what is drawn where, names from elsewhere as letters alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("matplotlib")

from mlperf.report.figures.figures import figure_svg
from mlperf.report.figures.table_plots import (
    Compared,
    against_figure,
    coefficient_figure,
    compared_figure,
    effect_figures,
    errors_figure,
    group_figure,
    path_figure,
    plain,
    unit_of,
)

HOSTILE = 'a $x_{y}$ <script>alert("1")</script> \\frac{1}'
VALUES = np.array([1e-5, 2e-4, 3e-3])


def test_errors_are_drawn_in_percent_about_zero_with_the_noise_floor() -> None:
    figure = compared_figure(Compared(VALUES, 1.1 * VALUES, "time_s", noise_floor=0.05, groups=["p", "q", "q"]), "Rows")
    left, right = figure.axes
    assert (left.get_xscale(), left.get_yscale()) == ("log", "log")
    assert left.get_xlabel() == "measured time (us)"
    heights = np.concatenate([points.get_offsets()[:, 1] for points in right.collections])
    np.testing.assert_allclose(heights, 10.0)
    band = right.transData.inverted().transform(right.patches[0].get_window_extent())  # matplotlib 3.8 draws it as a polygon
    np.testing.assert_allclose(band[:, 1], (-5.0, 5.0))


def test_values_that_may_be_negative_are_drawn_on_straight_axes() -> None:
    shown = Compared(np.array([-1.0, 2.0]), np.array([-0.5, 2.5]), "gain", np.array([-1.0, 2.0]), np.array([0.0, 3.0]))
    assert against_figure(shown).axes[0].get_xscale() == "linear"
    axes = errors_figure(shown).axes[0]
    assert axes.get_ylabel() == "error of gain"
    np.testing.assert_allclose(axes.collections[0].get_offsets()[:, 1], 0.5)


def test_names_from_elsewhere_start_no_formula_and_no_markup() -> None:
    assert plain("a $b$") == r"a \$b\$"
    assert len(plain("x" * 99)) <= 26
    assert plain("a_very_long_network_name_number_12") != plain("a_very_long_network_name_number_13")
    effects = pd.DataFrame(
        {"column": HOSTILE, "level": [HOSTILE, "b"], "value": np.nan, "predicted": [1.0, 2.0], "lower": 0.5, "upper": 3.0}
    )
    (figure,) = effect_figures(effects, HOSTILE).values()
    groups = group_figure(pd.DataFrame({"group": [HOSTILE, "b"], "n": 1, "mape": [0.2, 0.1], "bias": [0.2, -0.1]}), HOSTILE)
    for drawn in (figure, groups, against_figure(Compared(VALUES, VALUES, HOSTILE, groups=[HOSTILE, "b", "b"]))):
        assert "<script" not in figure_svg(drawn)


def test_effects_share_one_axis_and_the_target_s_unit() -> None:
    effects = pd.DataFrame(
        {"column": ["m", "m", "k", "k"], "level": "", "value": [1.0, 100.0, 3.0, 4.0], "predicted": [1e-6, 1e-3, 2e-6, 3e-6]}
    )
    effects = effects.assign(lower=effects["predicted"] / 2.0, upper=effects["predicted"] * 2.0)
    drawn = effect_figures(effects, "time_s")
    assert list(drawn) == ["m", "k"]
    limits = {figure.axes[0].get_ylim() for figure in drawn.values()}
    assert len(limits) == 1
    assert drawn["m"].axes[0].get_xscale() == "log"
    assert drawn["k"].axes[0].get_xscale() == "linear"
    assert drawn["m"].axes[0].get_ylabel().startswith("time (")


def test_coefficients_stand_in_standard_errors_the_clearest_first() -> None:
    table = pd.DataFrame(
        {"coef": [1e-9, -4.0, 0.0], "std_err": [1e-10, 2.0, 0.0], "lower": [8e-10, -8.0, 0.0], "upper": [1.2e-9, 0.0, 0.0]},
        index=["a", "b", "none"],
    )
    axes = coefficient_figure(table.assign(std_err_cluster=table["std_err"] * 2.0)).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    np.testing.assert_allclose(axes.lines[0].get_xdata(), [10.0, -2.0])


def test_the_path_shows_the_criterion_of_every_step() -> None:
    path = pd.DataFrame({"Step": ["", "- a"], "Df": [np.nan, 1.0], "AIC": [-3.0, -5.0]})
    axes = path_figure(path).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["start", "- a"]
    np.testing.assert_allclose(axes.lines[0].get_xdata(), [-3.0, -5.0])


def test_only_seconds_get_another_unit() -> None:
    assert unit_of("rate_per_s", VALUES) == ("rate_per_s", 1.0, "rate_per_s")
    assert unit_of("time_s", np.array([120.0]))[1:] == (60.0, "time (min)")


def test_groups_that_are_not_drawn_are_told_of() -> None:
    every = pd.DataFrame({"group": [f"g{number}" for number in range(34)], "n": 1, "mape": 0.1, "bias": 0.1})
    assert group_figure(every, "system").axes[0].get_title("left") == "Left-out error by system, worst 20 of 34"
    assert group_figure(every.head(20), "system").axes[0].get_title("left") == "Left-out error by system"
