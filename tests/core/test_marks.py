"""Marks written by a process, its threads and its children, read back by the reader."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from mlperf.core import marks
from mlperf.core.marks import LAUNCHERS, VARIABLE, MarkWriter, launched_rank, mark_laps, mark_writer, rank_of_process
from mlperf.traces.readers.system.marks import read_marks


def test_nested_marks_of_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMI_RANK", "3")
    writer = MarkWriter(tmp_path)
    before = time.monotonic_ns()
    writer.begin("step", 8)
    writer.begin("load")
    other = threading.Thread(target=lambda: (writer.begin("work"), writer.end()))
    other.start()
    other.join()
    writer.end()
    writer.end()
    writer.close()
    found = read_marks(tmp_path).by_time()
    assert found.text(found.name) == ["step", "load", "work"]
    assert found.size_bytes.tolist() == [8, 0, 0]
    assert set(found.rank.tolist()) == {3}
    assert found.tid[0] == found.tid[1] == threading.get_native_id()
    assert found.tid[2] != found.tid[0]
    assert before <= found.start_ns[0] <= found.start_ns[1] <= found.end_ns[1] <= found.end_ns[0] <= time.monotonic_ns()


def test_what_never_ends_ends_with_the_process(tmp_path: Path) -> None:
    writer = MarkWriter(tmp_path)
    writer.begin("step")
    writer.close()
    found = read_marks(tmp_path)
    assert found.text(found.name) == ["step"]
    assert found.duration_ns[0] > 0


def test_a_forked_child_has_a_file_of_its_own(tmp_path: Path) -> None:
    writer = MarkWriter(tmp_path)
    writer.begin("parent")
    child = os.fork()
    if not child:
        writer.begin("child")
        writer.end()
        writer.close()
        os._exit(0)
    os.waitpid(child, 0)
    writer.end()
    writer.close()
    found = read_marks(tmp_path)
    told = dict(zip(found.text(found.name), found.pid.tolist(), strict=True))
    assert told == {"parent": os.getpid(), "child": child}


@pytest.mark.parametrize(("name", "value", "rank"), [("RANK", "2", 2), ("RANK", "x", -1), ("UNKNOWN", "2", -1)])
def test_the_rank_is_the_launchers(monkeypatch: pytest.MonkeyPatch, name: str, value: str, rank: int) -> None:
    for each in ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID", "RANK"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, value)
    assert rank_of_process() == rank


def test_what_is_buffered_at_a_fork_is_written_once(tmp_path: Path) -> None:
    writer = MarkWriter(tmp_path)
    for _ in range(2):
        # The first of them flushes, the second one stays in the buffer.
        writer.begin("step")
        writer.end()
    child = os.fork()
    if not child:
        writer.close()
        os._exit(0)
    os.waitpid(child, 0)
    writer.close()
    found = read_marks(tmp_path)
    assert found.text(found.name) == ["step", "step"]


def test_an_end_without_a_begin_harms_nobody(tmp_path: Path) -> None:
    writer = MarkWriter(tmp_path)
    writer.end()
    writer.begin("step")
    child = os.fork()
    if not child:
        writer.end()  # of a mark that is the parent's
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    writer.close()
    writer.end()
    found = read_marks(tmp_path)
    assert found.text(found.name) == ["step"]


@pytest.mark.parametrize(
    ("told", "rank"),
    [
        ({"RANK": "2"}, -1),
        ({"RANK": "2", "WORLD_SIZE": "4"}, 2),
        ({"PMI_RANK": "0", "PMI_SIZE": "1"}, -1),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, 1),
        # A batch script, which is no step of several tasks.
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, -1),
    ],
)
def test_a_rank_is_one_of_several(monkeypatch: pytest.MonkeyPatch, told: dict[str, str], rank: int) -> None:
    for each in (name for pair in LAUNCHERS for name in pair):
        monkeypatch.delenv(each, raising=False)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    assert launched_rank() == rank


def test_laps_that_were_timed_by_another_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, begun = MarkWriter(tmp_path), time.perf_counter()
    monkeypatch.setattr(marks, "mark_writer", lambda: writer)
    before = time.monotonic_ns()
    mark_laps("step", ("load", "forward"), [begun, begun + 0.001, begun + 0.004])
    writer.close()
    found = read_marks(tmp_path)
    assert sorted(found.text(found.name)) == ["forward", "load", "step"]
    lengths = dict(zip(found.text(found.name), found.duration_ns.tolist(), strict=True))
    assert lengths == {name: pytest.approx(length, abs=2) for name, length in (("step", 4e6), ("load", 1e6), ("forward", 3e6))}
    assert abs(int(found.start_ns.min()) - before) < 50_000_000


def test_without_a_recorder_nobody_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    mark_writer.cache_clear()
    assert mark_writer() is None
    mark_laps("step", ("load",), [0.0, 1.0])
