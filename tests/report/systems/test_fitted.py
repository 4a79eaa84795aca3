"""What the figure of predicted rows draws: every row once, at its devices, with the ends of its interval."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.models.uncertainty.intervals import Interval
from mlperf.planning.systems.fitted import FittedRows, predict_fitted
from mlperf.report.figures.figures import save_figure
from mlperf.report.systems.fitted import devices_of, fitted_figure, fitted_sections, lines_of, parts_of, rates_of
from mlperf.specs.network.cnn_toml import read_cnn
from mlperf.systems.coupling.queues import closed_queue
from mlperf.training.systems.constants_model import train_constants
from mlperf.training.systems.server_fit import fit_servers
from mlperf.training.systems.system_fit import SystemFit
from mlperf.training.systems.train_system import train_system

pytest.importorskip("matplotlib")
from matplotlib.collections import PolyCollection


@pytest.fixture(scope="module")
def model() -> SystemFit:
    """Steps of 30 ms and 2 ms a sample, 40 ms more across machines of 8 GPUs."""
    rows = [(gpus, size, 8, 0.03 + 0.002 * size + 0.04 * (gpus > 8)) for gpus in (1, 2, 4, 8, 16, 32) for size in (16, 32, 64)]
    return train_system(pd.DataFrame(rows, columns=["n_gpus", "subbatch_size", "n_gpus_per_node", "step_s"]))


def asked(model: SystemFit, gpus: tuple[int, ...], sizes: tuple[int, ...]) -> FittedRows:
    rows = [(count, size, 8) for count in gpus for size in sizes]
    return predict_fitted(model, pd.DataFrame(rows, columns=["n_gpus", "subbatch_size", "n_gpus_per_node"]))


def test_a_line_holds_rows_that_differ_in_devices_alone(model: SystemFit) -> None:
    result = asked(model, (32, 8, 64), (16, 64))
    name, devices = devices_of(result)
    assert (name, devices.tolist()) == ("GPUs", [32, 32, 8, 8, 64, 64])
    assert lines_of(result, devices) == {"subbatch size 16": [2, 0, 4], "subbatch size 64": [3, 1, 5]}
    figure = fitted_figure(result)
    rates, parts = figure.axes
    assert parts.get_ylabel() == "time (ms)"
    points = [np.asarray(each.get_offsets()) for each in rates.collections if type(each).__name__ == "PathCollection"]
    drawn = np.sort(np.concatenate(points)[:, 1])
    assert drawn == pytest.approx(np.sort(result.further["samples_per_s"].to_numpy(float)))
    assert "outside of what was measured" in rates.get_legend_handles_labels()[1]
    assert parts.get_title(loc="left") == "parts of a step, subbatch size 64"
    tops = [bar.get_y() + bar.get_height() for bar in parts.containers[-1]]
    assert tops == pytest.approx(1e3 * result.predicted[[3, 1, 5]])


def test_an_interval_that_nobody_knows_is_not_explained_as_one(model: SystemFit) -> None:
    known = asked(model, (4, 16), (32,))
    assert "95 % interval of a single run" in fitted_sections(known)[-1].text
    nan = np.full(2, np.nan)
    unknown = replace(known, interval=Interval(nan, nan, 0.95))
    assert fitted_sections(unknown)[-1].text.startswith("No low and high: too few rows")


def test_bounds_of_a_rate_are_those_of_the_step(model: SystemFit) -> None:
    result = asked(model, (4, 16), (32,))
    rate, lower, upper = rates_of(result)
    samples = np.array([4 * 32, 16 * 32])
    assert rate == pytest.approx(samples / result.predicted)
    assert lower == pytest.approx(samples / result.interval.upper)
    assert upper == pytest.approx(samples / result.interval.lower)
    assert sum(parts_of(result).values()) == pytest.approx(result.predicted)


def test_more_choices_than_colours_are_points(model: SystemFit) -> None:
    result = asked(model, (4, 8), tuple(range(16, 65, 4)))
    assert list(lines_of(result, devices_of(result)[1])) == [""]
    assert fitted_figure(result).axes[1].get_xlabel() == "row"


def test_one_row_is_a_point(model: SystemFit, tmp_path: Path) -> None:
    result = asked(model, (8,), (32,))
    figure = fitted_figure(result)
    assert "perfect scaling" not in figure.axes[0].get_legend_handles_labels()[1]
    save_figure(figure, tmp_path / "one.svg")
    assert (tmp_path / "one.svg").stat().st_size > 1000


def test_gpus_of_a_machine_tell_rows_of_as_many_gpus_apart(model: SystemFit) -> None:
    rows = pd.DataFrame({"n_nodes": [1, 2, 2, 4], "n_gpus_per_node": [4, 2, 4, 2], "subbatch_size": 32})
    result = predict_fitted(model, rows)
    assert lines_of(result, devices_of(result)[1]) == {"n gpus per node 4": [0, 2], "n gpus per node 2": [1, 3]}


def test_servers_are_drawn_by_workers() -> None:
    counts = np.arange(1, 9)
    speeds = closed_queue(0.1, 0.02, counts).throughput_per_s
    servers = fit_servers(pd.DataFrame({"cnn": "one", "n_workers": counts, "updates_per_s": speeds}))
    result = predict_fitted(servers, pd.DataFrame({"cnn": "one", "n_workers": [2, 4, 8]}))
    figure = fitted_figure(result)
    assert [axes.get_xlabel() for axes in figure.axes] == ["workers", "workers"]
    assert figure.axes[0].get_ylabel() == "updates a second"
    assert sum(parts_of(result).values()) == pytest.approx(result.further["step_s"].to_numpy())


def test_plans_are_drawn_by_replicas() -> None:
    """A line for each number of servers."""
    folder = Path(__file__).parents[2] / "reference/parallel/servers"
    constants = train_constants(folder / "constants", latency_s=5e-6, bytes_per_s=6e9)
    cnns = [read_cnn(path) for path in sorted((folder / "runs/cnns").glob("*.toml"))]
    rows = pd.DataFrame({"cnn": "digits-fc", "plan": "2x1x1/1x1x1/1x1x1", "exchange": "asynchronous"}, index=range(6))
    result = predict_fitted(constants, rows.assign(n_replicas=[1, 2, 4] * 2, n_servers=[1] * 3 + [2] * 3), cnns=cnns)
    assert lines_of(result, devices_of(result)[1]) == {"n servers 1": [0, 1, 2], "n servers 2": [3, 4, 5]}
    figure = fitted_figure(result)
    assert [axes.get_xlabel() for axes in figure.axes] == ["replicas", "replicas"]
    assert sum(parts_of(result).values()) == pytest.approx(result.predicted)


def test_many_devices_are_a_band_on_logarithmic_axes_with_labels_apart(model: SystemFit, tmp_path: Path) -> None:
    """Two hundred whiskers would be a wall, and all but the last few points would lie on the origin."""
    result = asked(model, tuple(range(8, 1601, 8)), (16, 64))
    figure = fitted_figure(result)
    rates, parts = figure.axes
    assert (rates.get_xscale(), rates.get_yscale()) == ("log", "log")
    bands = [each for each in rates.collections if isinstance(each, PolyCollection)]
    ends = np.concatenate([band.get_paths()[0].vertices[:, 1] for band in bands])
    _, lower, upper = rates_of(result)
    assert (ends.min(), ends.max()) == (pytest.approx(lower.min()), pytest.approx(upper.max()))
    save_figure(figure, tmp_path / "many.png")
    boxes = [label.get_window_extent() for label in parts.get_xticklabels()]
    assert len(boxes) == 12
    assert all(one.x1 < other.x0 for one, other in itertools.pairwise(boxes))
    legend = rates.get_legend()
    assert legend is not None
    assert legend.get_window_extent().y1 < rates.get_window_extent().y0
