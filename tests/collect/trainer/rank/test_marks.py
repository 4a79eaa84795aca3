"""Iterations and updates of a trainer that is recorded: the ledger's times on the recorder's axis."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from mlperf.collect.trainer.ledger import GPU_TIMES, UPDATE_TIMES
from mlperf.collect.trainer.rank.marks import GpuMarks, mark_update
from mlperf.core import marks
from mlperf.core.marks import MarkWriter


@pytest.fixture
def writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MarkWriter:
    found = MarkWriter(tmp_path)
    monkeypatch.setattr(marks, "mark_writer", lambda: found)
    return found


def lines(folder: Path) -> list[list[str]]:
    return [line.split("\t") for path in folder.glob("*.marks") for line in path.read_text().splitlines()[1:]]


def test_parts_follow_one_another_and_fill_the_step(writer: MarkWriter, tmp_path: Path) -> None:
    start, times = time.perf_counter(), [0.001 * (number + 1) for number in range(len(GPU_TIMES))]
    before = time.monotonic_ns()
    GpuMarks().iteration(start, times)
    GpuMarks(2).iteration(start, times)
    writer.close()
    found = lines(tmp_path)
    assert [row[4] for row in found[: len(GPU_TIMES) + 1]] == ["step", *(name.removesuffix("_s") for name in GPU_TIMES)]
    assert found[len(GPU_TIMES) + 1][4] == "step of worker 2"
    ends = np.array([[int(row[0]), int(row[1])] for row in found[: len(GPU_TIMES) + 1]])
    assert abs(ends[0, 0] - before) < 50_000_000
    np.testing.assert_allclose(np.diff(ends[1:], axis=1).ravel() * 1e-9, times, atol=2e-9)
    assert (ends[1:-1, 1] == ends[2:, 0]).all()
    assert (ends[0, 0], ends[0, 1]) == (ends[1, 0], ends[-1, 1])


def test_updates_have_a_name_that_is_no_step(writer: MarkWriter, tmp_path: Path) -> None:
    mark_update(time.perf_counter(), [0.001] * len(UPDATE_TIMES))
    writer.close()
    assert [row[4] for row in lines(tmp_path)][:2] == ["update of the weights", UPDATE_TIMES[0].removesuffix("_s")]


def test_without_a_recorder_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "mark_writer", lambda: None)
    GpuMarks().iteration(0.0, [0.0])
    assert list(tmp_path.iterdir()) == []
