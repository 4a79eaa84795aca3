"""The threads of a predicted configuration: all of them, for about forty updates of the length that the equations give."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.collect.trainer.ledger import GPU_TIMES, UPDATE_TIMES
from mlperf.core.errors import DataError, UsageError
from mlperf.planning import PredictionOptions, recorded_threads, simulated_configuration, simulated_threads
from mlperf.specs import JobSpec, load_cnn, load_machine
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.simulate import SimulationPlan, simulate_iterations
from mlperf.traces.timeline.lanes import UPDATE

pytestmark = pytest.mark.slow


def test_a_predicted_configuration_has_all_its_threads(small_model: Any) -> None:
    cnn = load_cnn("alexnet")
    machine, job = load_machine("cpu-cluster"), JobSpec(dataset_size=10_000)
    prediction = mlperf.predict_epoch(small_model, cnn, machine, job, n_nodes=2, subbatch_size=4)
    timeline = simulated_configuration(small_model, prediction, [cnn], machine, PredictionOptions(seed=1))
    assert timeline.lanes == [(0, 0), (0, 1), (0, UPDATE), (1, 0), (1, 1), (1, UPDATE)]
    published = timeline.intervals[timeline.intervals["activity"] == "update_weights"].groupby("node").size()
    assert (published >= 20).all()
    mean_s = timeline.intervals.loc[timeline.intervals["thread"] == UPDATE].groupby("node")["end_s"].max() / published
    assert np.allclose(mean_s, prediction.update_iteration_s[0], rtol=0.2)
    several = mlperf.predict_epoch(small_model, cnn, machine, job, n_nodes=[1, 2], subbatch_size=4)
    with pytest.raises(UsageError, match="2 configurations"):
        simulated_configuration(small_model, several, [cnn], machine, PredictionOptions())


Machine = Callable[..., tuple[ComponentTimes, RunGrid]]


def test_nodes_and_threads_follow_from_the_numbers_of_gpus(heavy: Machine) -> None:
    recorded = simulate_iterations(*heavy(0.3, 0.2, 3, 2), seed=1, plan=SimulationPlan(n_updates=60, n_recorded=1500)).timeline
    threads = simulated_threads(recorded, 2).intervals
    frame = recorded.to_frame()
    fifth = frame[(frame["thread"] == "gpu") & (frame["index"] == 5)]
    shown = threads[(threads["node"] == 2) & (threads["thread"] == 1)]
    assert np.allclose(shown["begin_s"], np.sort(fifth["begin_s"]))
    assert len(threads) == len(frame)
    assert (threads["thread"] == UPDATE).sum() == (frame["thread"] == "update").sum()


def test_updates_are_numbered_in_their_order(heavy: Machine) -> None:
    plan = SimulationPlan(n_updates=60, n_recorded=1500)
    threads = simulated_threads(simulate_iterations(*heavy(0.3, 0.2, 3, 2), seed=1, plan=plan).timeline, 2).intervals
    for _, rows in threads[threads["activity"] == "update_weights"].groupby("node"):
        assert rows["update"].tolist() == list(range(len(rows)))
    barrier = threads[threads["activity"] == "allreduce"]
    assert barrier.groupby("update")["end_s"].nunique().max() == 1


def test_nothing_recorded_is_an_empty_timeline(heavy: Machine) -> None:
    recorded = simulate_iterations(*heavy(0.3, 0.2, 1, 1), seed=1, plan=SimulationPlan(n_updates=60)).timeline
    assert simulated_threads(recorded, 1).span_s == (0.0, 0.0)


Folder = Callable[..., Path]


def test_every_part_that_took_time_is_an_interval_of_its_length(run_folder: Folder) -> None:
    folder = run_folder()
    gpu, updates = (pd.read_csv(folder / f"{name}.csv.gz") for name in ("gpu", "updates"))
    timeline = recorded_threads(folder)
    lengths = (timeline.intervals["end_s"] - timeline.intervals["begin_s"]).groupby(timeline.intervals["activity"]).sum()
    assert len(timeline.intervals) == (gpu[list(GPU_TIMES)] > 0).sum().sum() + (updates[list(UPDATE_TIMES)] > 0).sum().sum()
    for activity, column in (("compute_gradient", gpu["compute_gradient_s"]), ("barrier", updates["barrier_wait_s"])):
        assert lengths[activity] == pytest.approx(column.sum())
    assert lengths["allreduce"] == pytest.approx(updates["allreduce_payload_s"].sum())


def test_parts_lie_behind_one_another_from_the_start_of_their_iteration(run_folder: Folder) -> None:
    folder = run_folder()
    gpu = pd.read_csv(folder / "gpu.csv.gz")
    table = recorded_threads(folder).intervals
    one = gpu[(gpu["node"] == 1) & (gpu["gpu"] == 2) & (gpu["iteration"] == 3)].iloc[0]
    shown = table[(table["node"] == 1) & (table["thread"] == 2) & (table["iteration"] == 3)].set_index("activity")
    first_s = min(gpu["start_s"].min(), pd.read_csv(folder / "updates.csv.gz")["start_s"].min())
    before_s = one[["lock_weights_gpu_s", "fetch_weights_s", "load_image_s", "deform_image_s"]].sum()
    assert shown.loc["compute_gradient", "begin_s"] == pytest.approx(one["start_s"] - first_s + before_s)
    assert shown.loc["update_gradient", "update"] == one["update"]


def test_intervals_of_a_thread_do_not_overlap(run_folder: Folder) -> None:
    timeline = recorded_threads(run_folder())
    assert timeline.lanes == [(0, 0), (0, 1), (0, 2), (0, UPDATE), (1, 0), (1, 1), (1, 2), (1, UPDATE)]
    for _, rows in timeline.intervals.groupby(["node", "thread"]):
        assert (rows["begin_s"].to_numpy()[1:] >= rows["end_s"].to_numpy()[:-1] - 1e-12).all()


@pytest.mark.parametrize(("ahead_s", "left_s"), [(1000.0, 0.0), (-70.0, 0.0), (0.01, 0.01)])
def test_only_clocks_of_other_machines_are_moved(run_folder: Folder, ahead_s: float, left_s: float) -> None:
    """The updates of both nodes are alike: their barriers end together but for what the clock is ahead."""
    table = recorded_threads(run_folder(ahead_s)).intervals
    ends = table[table["activity"] == "barrier"].groupby("node")["end_s"].first()
    assert ends[1] - ends[0] == pytest.approx(left_s, abs=1e-9)


def test_the_mode_is_what_the_campaign_says_else_what_the_job_waited_for(run_folder: Folder) -> None:
    folder = run_folder()
    assert recorded_threads(folder).mode == "emulated compute_gradient"
    pd.DataFrame({"run": [1, 2], "mode": ["emulated gradient x5", "real"]}).to_csv(folder.parent.parent / "runs.csv", index=False)
    assert recorded_threads(folder).mode == "emulated gradient x5"


def test_a_folder_that_is_no_run_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"job\.json"):
        recorded_threads(tmp_path)


@pytest.mark.parametrize(("table", "column", "text"), [("gpu", "compute_gradient_s", "fast"), ("updates", "sum_gradient_s", "-1")])
def test_a_wrong_cell_of_the_records_is_named(run_folder: Folder, table: str, column: str, text: str) -> None:
    path = run_folder() / f"{table}.csv.gz"
    rows = [line.split(",") for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
    rows[3][rows[0].index(column)] = text
    path.write_bytes(gzip.compress("\n".join(map(",".join, rows)).encode()))
    with pytest.raises(DataError) as caught:
        recorded_threads(path.parent)
    assert caught.value.place == f"{path}, line 4, column {column}"
    assert repr(text) in caught.value.message
    assert caught.value.hint
