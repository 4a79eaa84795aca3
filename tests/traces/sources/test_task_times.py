"""Processor time of threads by /proc, against what the threads say themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Kind
from mlperf.traces.sources.perf_samples import PerfSamples
from mlperf.traces.sources.registry import chosen_sources
from mlperf.traces.sources.source import ABSENT, DEGRADED, OK, Probe
from mlperf.traces.sources.task_times import TaskTimes, read_task_times

PROGRAM = """
import json, threading, time
def computes(seconds, told):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass
    told[str(threading.get_native_id())] = time.thread_time()
    done.wait()
input()
done, told = threading.Event(), {}
threads = [threading.Thread(target=computes, args=(seconds, told)) for seconds in (0.3, 0.1)]
for each in threads: each.start()
while len(told) < 2: time.sleep(0.01)
print(json.dumps(told), flush=True)
input()
done.set()
"""


def test_each_threads_time_is_its_own(tmp_path: Path) -> None:
    source = TaskTimes()
    source.prepare(tmp_path)
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        source.follow(child.pid)
        child.stdin.write("\n")
        child.stdin.flush()
        told = json.loads(child.stdout.readline())
        source.stop()
        child.communicate("\n")
    found = read_task_times(tmp_path / "tasks.txt")
    assert set(found.kind.tolist()) == {int(Kind.SAMPLE)}
    for tid, seconds in told.items():
        own = found.tid == int(tid)
        assert found.weight_ns[own].sum() * 1e-9 == pytest.approx(seconds, rel=0.05, abs=0.01)
        assert set(found.pid[own].tolist()) == {child.pid}
    assert all(text.startswith("[") for text in found.text(found.name))


def test_by_default_only_in_the_place_of_perf(monkeypatch: pytest.MonkeyPatch) -> None:
    for status, is_there in ((OK, False), (DEGRADED, False), (ABSENT, True)):
        monkeypatch.setattr(PerfSamples, "probe", lambda _self, status=status: Probe(status))
        assert ("tasks" in [each.name for each in chosen_sources(())]) == is_there
        assert "tasks" in [each.name for each in chosen_sources(("tasks",))]


def test_what_perf_took_tells_more(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "tasks.txt").write_text("N\t7\t7\tpython\nT\t100\t7\t7\t10\nT\t300\t7\t7\t60\n")
    found = TaskTimes().read(tmp_path / "tasks").events
    assert found is not None
    np.testing.assert_array_equal(found.weight_ns, [10, 50])
    np.testing.assert_array_equal(found.start_ns, [100, 200])
    assert found.text(found.name) == ["[python]", "[python]"]
    (tmp_path / "perf").mkdir()
    (tmp_path / "perf" / "perf.txt").write_text("a sample")
    assert TaskTimes().read(tmp_path / "tasks").events is None
    assert TaskTimes().read(tmp_path / "nowhere").events is None


@pytest.mark.parametrize("line", ["T\t100\t7\t7\t10", "N\t7\tx\tpython", "Z\t1", "T\t1\t2", "N\t7\t7\ta\nT\t1\t7\t7\t-4"])
def test_a_wrong_line_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "tasks.txt").write_text(line + "\n")
    with pytest.raises(DataError, match=r"tasks\.txt, line \d"):
        read_task_times(tmp_path / "tasks.txt")


def test_a_last_line_that_is_cut_off_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "tasks.txt").write_text("N\t7\t7\ta\nT\t1\t7\t7\t4\nT\t2\t7")
    found = read_task_times(tmp_path / "tasks.txt")
    assert len(found) == 1
    assert "cut off" in found.notes[0]


def test_without_schedstat_there_is_none(tmp_path: Path) -> None:
    assert TaskTimes(tmp_path).probe().status == ABSENT
    if Path(f"/proc/{os.getpid()}/task/{os.getpid()}/schedstat").is_file():
        assert TaskTimes().probe().status == DEGRADED
