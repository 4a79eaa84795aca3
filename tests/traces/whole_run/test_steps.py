"""Steps of made recordings: their number, length and parts are known to the maker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_recordings import MS, Made

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Kind
from mlperf.traces.whole_run.steps import column_name, find_steps

PARTS = {"load": 10 * MS, "forward": 20 * MS, "Optimizer.update": 5 * MS}


def marked(made: Made, n_steps: int = 12, rank: int = 0, rest: int = 3 * MS) -> Made:
    at = 0
    for number in range(n_steps):
        made.add(Kind.REGION, at, 30 * MS, "evaluate", rank=rank, pid=10 + rank, tid=1) if number == 6 else None
        at = made.marks(at + (30 * MS if number == 6 else 0), PARTS, rank=rank) + rest
    return made


def test_marked_steps_and_their_phases(made: Callable[[], Made]) -> None:
    found = find_steps(marked(made()).recording())
    assert len(found.steps) == 12
    assert found.origin == "marks of the program"
    assert found.phases == ("load", "forward", "optimizer_update")
    np.testing.assert_allclose(found.steps["step_s"], 0.035)
    np.testing.assert_allclose(
        found.steps[["load_s", "forward_s", "optimizer_update_s", "other_s"]].sum(axis=1), found.steps["step_s"]
    )
    # An evaluation between two steps is no part of either.
    assert found.steps["step_s"].max() == pytest.approx(0.035)
    assert len(found.settled) == 11


@pytest.mark.parametrize(
    ("cut_ms", "n_steps"),
    [(94, 4), (112, 4), (134, 3), (150, 3), (200, 4)],
    ids=["in an earlier one: it went on", "between two: it went on", "in the last", "as the last ends", "long after the last"],
)
def test_a_step_that_was_interrupted_is_none(made: Callable[[], Made], cut_ms: int, n_steps: int) -> None:
    whole = marked(made(), 4).recording()
    found = find_steps(replace(whole, interrupted_ns=cut_ms * MS))
    assert len(found.steps) == n_steps
    assert found.notes == (("step 3 of rank 0 was interrupted: it is left out",) if n_steps == 3 else ())


def test_steps_that_a_profiler_marks_on_the_device_too_are_those_of_the_program(made: Callable[[], Made]) -> None:
    """A profiler repeats a program's marks on each stream, from the first kernel launched in it to the last."""
    maker = marked(made(), 4)
    for number in range(4):
        maker.add(Kind.REGION, number * 38 * MS + 20 * MS, 25 * MS, "step", rank=0, device=0, stream=7, name2="gpu_user_annotation")
    found = find_steps(maker.recording())
    np.testing.assert_allclose(found.steps["start_s"], [0.0, 0.038, 0.076, 0.114])
    np.testing.assert_allclose(found.steps["step_s"], 0.035)


def test_marks_of_a_profiler_are_steps_and_what_stands_in_them_phases(made: Callable[[], Made]) -> None:
    maker = made()
    for number in range(5):
        at = number * 38 * MS
        maker.add(Kind.REGION, at, 37 * MS, f"ProfilerStep#{number + 2}", rank=0, pid=10, tid=1)
        maker.add(Kind.REGION, at + MS, 20 * MS, "forward", rank=0, pid=10, tid=1)
    found = find_steps(maker.recording())
    assert found.phases == ("forward",)
    np.testing.assert_allclose(found.steps["forward_s"], 0.020)


def test_marks_of_a_thread_beside_are_no_phases(made: Callable[[], Made]) -> None:
    maker = marked(made())
    for number in range(12):
        maker.add(Kind.REGION, number * 38 * MS, 20 * MS, "decode", rank=0, pid=10, tid=2)
    assert "decode" not in find_steps(maker.recording()).phases


def test_nested_marks_count_once(made: Callable[[], Made]) -> None:
    maker = made()
    for number in range(4):
        at = maker.marks(number * 100 * MS, {"forward": 40 * MS})
        maker.add(Kind.REGION, at - 30 * MS, 20 * MS, "layer 1", rank=0, pid=10, tid=1)
    found = find_steps(maker.recording(), marker="step")
    assert found.phases == ("forward",)
    np.testing.assert_allclose(found.steps["forward_s"], 0.04)
    np.testing.assert_allclose(found.steps["other_s"], 0.0, atol=1e-12)


def test_processor_time_of_the_step_and_of_its_thread(made: Callable[[], Made]) -> None:
    maker = made()
    for number in range(4):
        start = number * 100 * MS
        end = maker.marks(start, {"load": 50 * MS, "forward": 50 * MS})
        maker.samples(start + 50 * MS, end, "gemm")
        maker.samples(start, end, "decode", tid=2)
    found = find_steps(maker.recording()).steps
    np.testing.assert_allclose(found["main_busy_s"], 0.05)
    np.testing.assert_allclose(found["busy_s"], 0.15)


def test_where_nobody_marks_no_thread_is_the_one_that_does(made: Callable[[], Made]) -> None:
    maker = made()
    for number in range(8):
        start = number * 100 * MS
        maker.stacks(start, start + 60 * MS, ["main", "forward"])
        maker.stacks(start + 60 * MS, start + 100 * MS, ["main", "update"])
        maker.samples(start, start + 60 * MS, "gemm")
    found = find_steps(maker.recording()).steps
    assert found["main_busy_s"].isna().all()
    np.testing.assert_allclose(found["busy_s"], 0.06, atol=0.006)


def test_devices_and_messages_are_parts_of_the_step(made: Callable[[], Made]) -> None:
    maker = made()
    for number in range(3):
        start = number * 100 * MS
        maker.marks(start, {"forward": 100 * MS})
        maker.add(Kind.KERNEL, start + 10 * MS, 50 * MS, "gemm", rank=0, device=0, stream=7)
        maker.add(Kind.MEMCPY, start + 40 * MS, 40 * MS, "Memcpy HtoD", rank=0, device=0, stream=8)
    found = find_steps(maker.recording()).steps
    np.testing.assert_allclose(found["gpu_kernel_s"], 0.05)
    np.testing.assert_allclose(found["gpu_comm_s"], 0.04)
    np.testing.assert_allclose(found["gpu_exposed_comm_s"], 0.02)
    np.testing.assert_allclose(found["cpu_s"], 0.03)


def test_every_rank_has_its_steps(made: Callable[[], Made]) -> None:
    maker = marked(marked(made()), rank=1)
    found = find_steps(maker.recording())
    assert found.summary["rank"].tolist() == [0, 1]
    assert found.summary["n_steps"].tolist() == [11, 11]


def test_another_marker_and_its_numbers(made: Callable[[], Made]) -> None:
    maker = made()
    for number in (4, 5, 6):
        maker.add(Kind.REGION, number * 10 * MS, 8 * MS, f"batch {number}", rank=0, pid=10, tid=1)
    found = find_steps(maker.recording(), marker=r"batch (\d+)")
    assert found.steps["step"].tolist() == [4, 5, 6]
    with pytest.raises(DataError, match="no mark fits 'epoch'") as caught:
        find_steps(maker.recording(), marker="epoch")
    assert "batch 4" in str(caught.value)


def test_nothing_to_tell_them_by_is_said(made: Callable[[], Made]) -> None:
    maker = made()
    maker.samples(0, 40 * MS, "main")
    with pytest.raises(DataError, match="no steps found") as caught:
        find_steps(maker.recording(Path("empty")))
    assert "region('step')" in str(caught.value)


@pytest.mark.parametrize(("text", "name"), [("Load data#1", "load_data_1"), ("___", "unnamed"), ("gc", "gc")])
def test_names_become_columns(text: str, name: str) -> None:
    assert column_name(text) == name
