"""What people read of a whole run: its first line, the parts, and the batch system's line."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from mlperf.models.uncertainty.intervals import Interval
from mlperf.planning.whole_run.epoch_times import EpochTimes
from mlperf.planning.whole_run.result import WholeRun
from mlperf.planning.whole_run.whole_run import WholeRunOptions, whole_run
from mlperf.report.systems.whole_runs import parts_frame, whole_run_answer, whole_run_figure, whole_run_sections
from mlperf.report.text.views import result_sections
from mlperf.specs.machine import MachineSpec
from mlperf.specs.prices import MachinePrice, PriceSpec
from mlperf.specs.run import RunSpec
from mlperf.training.measured_on import MeasuredOn


def run_of(*nodes: int) -> WholeRun:
    n_nodes = np.array(nodes)
    epoch_s = 7200.0 / n_nodes
    configs = pd.DataFrame({"cnn": "vgg16", "n_nodes": n_nodes, "n_gpus_per_node": 4, "subbatch_size": 8})
    times = EpochTimes(configs, epoch_s, Interval(epoch_s, epoch_s, 0.9), n_nodes, 4 * n_nodes, n_nodes, n_nodes > 1)
    machine = MachineSpec(name="box", max_nodes=9, n_gpus_per_node=4, power_w=1000.0)
    prices = PriceSpec("EUR", {"box": MachinePrice(per_node_hour=10.0)})
    options = WholeRunOptions(epochs=6, deadline_s=43200.0, level=0.9)
    return whole_run(times, machine, RunSpec(startup_s=1800.0), prices, options)


def test_the_first_line_holds_time_chance_price_and_energy() -> None:
    text = whole_run_answer(run_of(1)).text()
    assert text.startswith("vgg16 on 1 x 4 GPUs of box, sub-batch 8: 6 epochs in 12.5 h (90 %: 12.5 to 12.5); P(<= 12.0 h) = 0.00")
    assert "125 EUR (125 to 125); 12.5 kWh" in text
    assert "outside the measured domain" in text


def test_the_first_line_tells_whose_times_they_are() -> None:
    measured_on = MeasuredOn("mine", "CPU of mine", "", "numpy", "")
    found = dataclasses.replace(
        run_of(1),
        system="data-parallel",
        measured_on=measured_on,
        other_machine=("processor 'A', measured on 'B'",),
        assumed=("exchange",),
        calibrated=True,
    )
    text = whole_run_answer(found).text()
    assert text.startswith(
        "vgg16 on 1 x 4 GPUs of box, sub-batch 8, data-parallel: 6 epochs in 12.5 h (90 %: 12.5 to 12.5), calibrated"
    )
    assert "times: model of mine (measured on CPU of mine), exchange assumed, not measured, NOT of box: processor 'A'" in text


def test_the_fastest_of_several_is_told_and_each_has_a_row() -> None:
    found = run_of(1, 2)
    assert (
        "2 configurations: fastest is vgg16 on 2 x 4 GPUs of box, sub-batch 8, 6 epochs in 6.50 h" in whole_run_answer(found).text()
    )
    sections = result_sections(found)
    assert sections[0].frame is not None
    assert len(sections[0].frame) == 2
    assert not any("#SBATCH" in section.text for section in sections)


def test_configurations_that_never_end_are_listed() -> None:
    left_out = pd.DataFrame({"n_nodes": [64], "failures_per_try": [50.0], "reason": ["never ends"]})
    found = dataclasses.replace(run_of(1), left_out=left_out)
    assert whole_run_answer(found).text().startswith("1 configuration, 1 more would never end: fastest is vgg16 on 1 x 4 GPUs")
    assert next(each.frame for each in whole_run_sections(found) if each.title == "Left out")["n_nodes"].tolist() == [64]


def test_parts_that_take_no_time_are_left_out_and_the_others_sum_up() -> None:
    frame = parts_frame(run_of(1), 0)
    assert frame["part"].tolist() == ["start-up", "epochs", "together"]
    assert frame["share"].tolist() == [0.04, 0.96, 1.0]
    assert whole_run_sections(run_of(1))[-1].text == "#SBATCH --time=12:30:00"


def test_bars_are_the_parts_and_the_deadline_a_line() -> None:
    pytest.importorskip("matplotlib")
    found = run_of(1, 2, 4)
    axes = whole_run_figure(found).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "1 x 4 GPUs, sub-batch 8\nP(on time) = 0.00",
        "2 x 4 GPUs, sub-batch 8\nP(on time) = 1.00",
        "4 x 4 GPUs, sub-batch 8\nP(on time) = 1.00",
    ]
    startup, epochs = axes.containers[:2]
    assert [bar.get_width() for bar in startup] == pytest.approx([0.5] * 3)
    assert [bar.get_x() + bar.get_width() for bar in epochs] == pytest.approx(found.mean_s / 3600.0)
    assert "deadline" in axes.get_legend_handles_labels()[1]
    assert axes.get_xlabel() == "mean time of a run (h)"


def test_of_many_runs_the_fastest_are_drawn() -> None:
    pytest.importorskip("matplotlib")
    labels = [label.get_text() for label in whole_run_figure(run_of(*range(1, 20))).axes[0].get_yticklabels()]
    assert len(labels) == 12
    assert labels[0].startswith("8 x 4 GPUs")
