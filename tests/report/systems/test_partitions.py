"""What is told of a plan, and what its figure shows."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from mlperf.planning.partition.optimize import Limits, PartitionJob
from mlperf.planning.partition.plan import PartitionPlan, plan_partition
from mlperf.report.systems.partitions import plan_answer, plan_figure, plan_sections
from mlperf.specs.constants import read_constants
from mlperf.specs.network.cnn_toml import read_cnn

HERE = Path(__file__).parents[2] / "reference/partition"


def planned(source: str = "assumed", **options: object) -> PartitionPlan:
    machine = dataclasses.replace(read_constants(HERE / "cluster.toml"), source=source)
    limits = Limits(20, staleness=3)
    return plan_partition(read_cnn(HERE / "mnist.toml"), machine, PartitionJob(10_000, 100), limits, **options)  # type: ignore[arg-type]


def test_the_answer_names_shape_epoch_and_whose_constants() -> None:
    plan = planned()
    text = plan_answer(plan).text()
    assert f"{plan.n_replicas} replica" in text
    assert "assumed, not measured" in text
    assert "outside the measured domain" in text
    assert "inside the measured domain" in plan_answer(planned("measured")).text()
    assert "loopback" in plan_answer(planned("loopback")).text()


def test_sections_are_those_that_were_asked_for() -> None:
    titles = [section.title for section in plan_sections(planned())]
    assert not {"Scaling", "Other hardware: plan kept, and planned anew"} & set(titles)
    more = [section.title for section in plan_sections(planned(scaling=(1, 2), what_ifs=("rdma",)))]
    assert {"Scaling", "Other hardware: plan kept, and planned anew"} <= set(more)
    told = plan_sections(planned())[-1].text
    assert "no other plan is faster" in told


def test_the_gap_of_a_row_is_told_where_there_is_one() -> None:
    plan = planned(scaling=(1, 2))
    assert not any("gap" in section.frame for section in plan_sections(plan) if section.frame is not None)
    rows = plan.scaling.assign(gap=[0.0, 0.01])
    sections = plan_sections(dataclasses.replace(plan, scaling=rows))
    assert next(each.frame for each in sections if each.title == "Scaling")["gap"].tolist() == [0.0, 0.01]
    assert "rows that differ by less may be in another order" in sections[-1].text


def test_the_figure_is_the_curve_where_there_is_one() -> None:
    pytest.importorskip("matplotlib")
    assert plan_figure(planned(scaling=(1, 2, 4))).axes[0].get_xlabel() == "machines"
    assert [label.get_text() for label in plan_figure(planned()).axes[0].get_yticklabels()] == ["fc1", "fc2", "fc3", "fc4"]


def test_labels_of_many_machines_leave_room_for_each_other() -> None:
    axes = plan_figure(planned(scaling=tuple(range(1, 41, 3)))).axes[0]
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["1", "4", "7", "10", "13", "16", "19", "25", "31", "40"]
    assert not axes.xaxis.get_minorticklocs().size
