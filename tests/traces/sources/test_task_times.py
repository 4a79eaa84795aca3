"""Processor time of threads by /proc, against what the threads say themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mlperf.traces.events.kinds import Kind
from mlperf.traces.readers.system.task_looks import read_task_looks
from mlperf.traces.sources.source import ABSENT, OK
from mlperf.traces.sources.task_times import FILE, TaskTimes

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


def test_looks_that_cannot_be_written_are_told_at_the_end(tmp_path: Path) -> None:
    (tmp_path / FILE).symlink_to("/dev/full")
    source = TaskTimes()
    source.prepare(tmp_path)
    source.follow(os.getpid())
    with pytest.raises(OSError, match="No space left on device"):
        source.stop()


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
    found = read_task_looks(tmp_path / "tasks.txt").samples()
    assert set(found.kind.tolist()) == {int(Kind.SAMPLE)}
    for tid, seconds in told.items():
        own = found.tid == int(tid)
        assert found.weight_ns[own].sum() * 1e-9 == pytest.approx(seconds, rel=0.05, abs=0.01)
        assert set(found.pid[own].tolist()) == {child.pid}
    assert all(text.startswith("[") for text in found.text(found.name))


def test_nothing_recorded_is_nothing_read(tmp_path: Path) -> None:
    assert TaskTimes().read(tmp_path).looks is None
    (tmp_path / "tasks.txt").write_text("N\t7\t7\tpython\nT\t100\t7\t7\t10\n")
    looks = TaskTimes().read(tmp_path).looks
    assert looks is not None
    assert looks.last() == {(7, 7): (100, 10)}


def test_without_schedstat_there_is_none(tmp_path: Path) -> None:
    assert TaskTimes(tmp_path).probe().status == ABSENT
    if Path(f"/proc/{os.getpid()}/task/{os.getpid()}/schedstat").is_file():
        assert TaskTimes().probe().status == OK
