"""Children end with the process that started them, killed or not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
PROGRAM = """
import subprocess, sys, time
from mlperf.core.children import ended_with_parent
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"], preexec_fn=ended_with_parent())
print(child.pid, flush=True)
time.sleep(60)
"""
WORKERS = """
import os, sys, time
from joblib import Parallel, delayed
from mlperf.core.children import tied
def work(number):
    with open(os.path.join(sys.argv[1], str(os.getpid())), "w"):
        time.sleep(60)
Parallel(n_jobs=2)(delayed(tied(work))(number) for number in range(2))
"""
NESTED = """
from joblib import Parallel, delayed
from mlperf.core.children import POLL_S, tied
import time
def inner(number):
    time.sleep(2.0 * POLL_S)
    return number
def outer(number):
    return sum(Parallel(n_jobs=1)(delayed(tied(inner))(each) for each in (number, 1)))
print(Parallel(n_jobs=2)(delayed(tied(outer))(number) for number in (10, 20)))
"""
WAIT_S = 60.0


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


def await_end(pids: list[int]) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while any(map(lives, pids)) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    assert not [pid for pid in pids if lives(pid)]


@pytest.mark.skipif(sys.platform != "linux", reason="Linux ends children with their parent")
def test_a_program_ends_with_its_parent() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert lives(child)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    await_end([child])


def test_workers_of_joblib_end_with_their_owner(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", WORKERS, str(tmp_path)], stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    deadline_s = time.monotonic() + WAIT_S
    while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < deadline_s:
        time.sleep(0.05)
    workers = [int(path.name) for path in tmp_path.iterdir()]
    assert len(workers) == 2
    assert owner.pid not in workers
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    await_end(workers)


def test_a_worker_whose_own_loop_is_tied_does_not_end_itself(tmp_path: Path) -> None:
    """Training inside of parallel training, as every judgement does."""
    program = tmp_path / "nested.py"
    program.write_text(NESTED, encoding="utf-8")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, env=ENVIRONMENT, timeout=WAIT_S)
    assert (done.returncode, done.stdout) == (0, "[11, 21]\n"), done.stderr
