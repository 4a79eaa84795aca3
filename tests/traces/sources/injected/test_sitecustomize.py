"""The file that is put before a program's start: harmless where nothing is asked of it, quiet where it cannot write."""

from __future__ import annotations

import multiprocessing
import multiprocessing.synchronize
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from mlperf.traces.sources.python_stacks import INJECTED

pytestmark = pytest.mark.slow

FILE = INJECTED / "sitecustomize.py"


def test_stacks_are_told_from_the_root() -> None:
    told = runpy.run_path(str(FILE))["stack_of"](sys._getframe())
    assert told.endswith(f"(test_sitecustomize.py:{test_stacks_are_told_from_the_root.__code__.co_firstlineno})")
    assert told.count(";") >= 3


def run(**variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(INJECTED), **variables}
    return subprocess.run([sys.executable, "-c", "print('done')"], env=environment, capture_output=True, text=True, check=True)


def test_without_a_folder_nothing_is_started(tmp_path: Path) -> None:
    found = run(MLPERF_PYTHON_STACKS="")
    assert (found.stdout, found.stderr) == ("done\n", "")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_does_not_stop_the_program(tmp_path: Path) -> None:
    found = run(MLPERF_PYTHON_STACKS=str(tmp_path / "none"))
    assert found.stdout == "done\n"
    assert "no Python stacks of process" in found.stderr


def test_no_thread_is_left_when_the_interpreter_ends(tmp_path: Path) -> None:
    """What is left then is killed inside whatever it calls: libraries of C++ end the program for that."""
    sampler = runpy.run_path(str(FILE))["_Sampler"](str(tmp_path), 0.005)
    assert sampler.thread.is_alive()
    sampler.end()
    assert not sampler.thread.is_alive()
    assert next(tmp_path.glob("*.stacks")).read_text().endswith("\n")


def test_a_lock_between_processes_is_its_users_line() -> None:
    """`with lock:` of multiprocessing is a function of Python; that of threads is none."""
    told = []
    user_of_lock = runpy.run_path(str(FILE))["user_of_lock"]

    class Semaphore:
        def __enter__(self) -> None:
            told.append(user_of_lock(sys._getframe(1)).f_code.co_name)

        def __exit__(self, *_error: object) -> None:
            pass

    lock = multiprocessing.Lock()
    lock._semlock = Semaphore()
    with lock:
        told.append(user_of_lock(sys._getframe()).f_code.co_name)
    assert told == [test_a_lock_between_processes_is_its_users_line.__name__] * 2


def test_what_is_buffered_at_a_fork_is_written_once(tmp_path: Path) -> None:
    """A child drops its parent's file, and would write what is still in its buffer once more."""
    code = (
        "import gc, os, sitecustomize\n"
        "sampler = next(each.__self__ for each in gc.callbacks if hasattr(each, '__self__'))\n"
        "sampler.write('G', 1, 2, 0, 7)\n"
        "sampler.collections.append((3, 4, 0, 7))\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    raise SystemExit\n"
        "os.waitpid(child, 0)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(FILE.parent), "MLPERF_PYTHON_STACKS": str(tmp_path)}
    # Nothing else writes or flushes in that time.
    environment["MLPERF_PYTHON_STACKS_EVERY_S"] = "0.5"
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=60)
    lines = [line for path in tmp_path.glob("*.stacks") for line in path.read_text().splitlines()]
    assert len(list(tmp_path.glob("*.stacks"))) == 2
    assert lines.count("G\t1\t2\t0\t7") == 1
    assert lines.count("G\t3\t4\t0\t7") == 1
