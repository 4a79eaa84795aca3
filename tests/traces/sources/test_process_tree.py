"""What a process and its children use, against what the system says of our own children."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mlperf.traces.events.counters import Series
from mlperf.traces.sources.process_tree import PROC, ProcessTree, tree_of, usage_of
from mlperf.traces.sources.source import ABSENT

WAIT = "import sys; print('ready', flush=True); sys.stdin.read()"


def test_children_of_children_belong_to_it() -> None:
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WAIT!r}])"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        found = tree_of(PROC, child.pid)
        assert found[0] == child.pid
        assert len(found) == 2
        child.communicate()
    assert tree_of(PROC, child.pid) == [child.pid]


def test_processes_that_end_while_they_are_listed_are_passed_over() -> None:
    """As those of a run that ends: the folder of one goes between its name and its threads."""
    program = (
        "import os\nfor _ in range(1500):\n    child = os.fork()\n    if not child:\n        os._exit(0)\n    os.waitpid(child, 0)"
    )
    with subprocess.Popen([sys.executable, "-c", program]) as child:
        while child.poll() is None:
            assert tree_of(PROC, child.pid)[0] == child.pid


def test_usage_is_the_systems() -> None:
    found = usage_of(PROC / str(os.getpid()))
    assert found is not None
    times = os.times()
    assert found[0] == pytest.approx(times.user + times.system, abs=0.5)
    assert found[1] > 1e6
    assert found[2] >= 1


def test_a_process_that_is_gone_uses_nothing(tmp_path: Path) -> None:
    assert usage_of(tmp_path / "gone") is None
    (tmp_path / "stat").write_text("1 (a b) R 1")
    (tmp_path / "status").write_text("Name: a\n")
    assert usage_of(tmp_path) is None


def test_a_run_is_followed(tmp_path: Path) -> None:
    source = ProcessTree()
    source.prepare(tmp_path)
    source.follow(os.getpid())
    source.stop()
    found = source.read(tmp_path).counters
    assert found is not None
    assert Series("run.cpu", "cores") in found.about
    assert found.of(found.numbers("run.threads")[0])[1].min() >= 1


def test_without_proc_there_is_none(tmp_path: Path) -> None:
    assert ProcessTree(tmp_path).probe().status == ABSENT
    assert ProcessTree(tmp_path).read(tmp_path).counters is None
