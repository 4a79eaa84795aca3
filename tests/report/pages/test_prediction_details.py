"""Distributions, forms, simulation and elasticities as people see them; maps of searches over several machines."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.planning.run_prediction import Prediction
from mlperf.report.figures.heatmap import Plane, search_maps
from mlperf.report.pages.prediction_details import detail_sections, simulation
from mlperf.report.text.tables import column_view
from mlperf.report.text.views import result_figure
from mlperf.systems.base.distributions import Distribution
from mlperf.systems.base.times import RunGrid
from mlperf.systems.sprint.simulated_runs import SimulatedRuns

COUNT = Distribution(np.array([0.0, 4.0, 8.0]), np.array([0.25, 0.5, 0.25]))
AGE = Distribution(np.array([1.0, 2.0]), np.array([0.5, 0.5]))


def compared(n_configs: int) -> SimulatedRuns:
    rows = [
        (config, quantity, value, 1.01 * value, 0.001, -0.01, False)
        for config in range(n_configs)
        for quantity, value in (("gpu_iteration_s", 0.5), ("mean_staleness", 1.5))
    ]
    columns = ["config", "quantity", "equations", "simulated", "std_err", "difference_error", "differs"]
    table = pd.DataFrame(rows, columns=columns)
    return SimulatedRuns("phases", 5000, table, (9000,) * n_configs, (COUNT,) * n_configs, (AGE,) * n_configs)


def predicted(n_configs: int) -> Prediction:
    one = np.ones(n_configs)
    elasticity = {"config": 0, "component": "sum_gradient", "activity": "update", "kind": "critical", "time_s": 0.02}
    table = pd.DataFrame([elasticity | {"epoch_elasticity": -1e-7, "mean_minibatch_elasticity": 0.31234}])
    table["update_iteration_elasticity"] = 0.3
    parts = {"compute_gradient": one}
    return Prediction(
        cnn=("a",) * n_configs,
        run=RunGrid(*(np.full(n_configs, value) for value in (2, 4, 4, 1000))),
        closed="phases",
        epoch_s=one,
        gpu_iteration_s=one,
        update_iteration_s=one,
        mean_minibatch_size=4 * one,
        explained=dict.fromkeys(("epoch_s", "gpu_iteration_s", "update_iteration_s", "mean_minibatch_size"), one),
        minibatch_std=one,
        mean_staleness=1.5 * one,
        gpu_breakdown_s=parts,
        update_breakdown_s={"allreduce": one},
        confidence_interval={},
        prediction_interval={},
        in_domain={},
        source={},
        flags={},
        recommended=("phases",) * n_configs,
        minibatch=(COUNT,) * n_configs,
        staleness=(AGE,) * n_configs,
        elasticities=table,
        simulation=compared(n_configs),
    )


def test_every_part_has_its_section() -> None:
    sections = detail_sections(predicted(1))
    assert [section.title.partition(" ")[0] for section in sections] == ["Distributions", "Simulation", "Elasticities:"]
    table = sections[0].frame
    assert table["by"].tolist() == ["phases", "simulation"] * 2
    assert table.loc[0, ["mean", "q05", "q50", "q95"]].tolist() == [4.0, 0.0, 4.0, 8.0]


def test_times_have_units_and_counts_have_none() -> None:
    shown = simulation(predicted(1))
    assert column_view("simulated", list(shown["simulated"])).cells == ("505.0 ms", "1.515")
    assert column_view("difference_error", list(shown["difference_error"])).cells == ("-1.00 %", "-1.00 %")


def test_elasticities_have_four_decimals_and_no_negative_zero() -> None:
    assert column_view("epoch_elasticity", [-1e-7, 0.31234]).cells == ("0.0000", "0.3123")


def test_the_figure_shows_bars_both_distributions_and_elasticities() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    axes = result_figure(predicted(1)).axes
    assert len(axes) == 4
    heights = [patch.get_height() for patch in axes[1].patches]
    assert heights == pytest.approx(COUNT.probabilities.tolist())


def test_planes_of_one_quantity_share_a_scale() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    nodes, sizes, yes = np.array([1, 2]), np.array([1]), np.ones((1, 2), bool)
    planes = [Plane(nodes, sizes, np.array([[1.0, 2.0]]), yes, yes, (2, 1)), Plane(nodes, sizes, np.array([[4.0, 8.0]]), ~yes, yes)]
    other = Plane(nodes, sizes, np.array([[30.0, 60.0]]), yes, yes, quantity="samples", units={})
    figure = search_maps([*planes, other])
    limits = [axes.collections[0].get_clim() for axes in figure.axes[:3]]
    assert limits == [(1.0, 8.0), (1.0, 8.0), (30.0, 60.0)]
    assert [len(axes.patches) for axes in figure.axes[:3]] == [1, 0, 0]


def test_bars_of_a_count_do_not_reach_far_below_none() -> None:
    """Sub-batches of 4: a bar of 0 as wide as a step would reach to -2 samples."""
    axes = result_figure(predicted(1)).axes[1]
    assert axes.get_xlim()[0] >= -1.0
    assert min(bar.get_x() for bar in axes.patches) == pytest.approx(-0.45)


def test_a_picture_of_the_first_configurations_says_so() -> None:
    heading = result_figure(predicted(10)).get_suptitle()
    assert heading == "One iteration of each thread, first 8 of 10 configurations"
    assert result_figure(predicted(8)).get_suptitle() == "One iteration of each thread"
