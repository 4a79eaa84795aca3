"""A watched command and what it started do not outlive the process that watches."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mlperf.collect.stream.guardian import Guardian, end_tree

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
WATCHING = """
import sys, time
from mlperf.collect.stream.command import WatchedCommand
with WatchedCommand(["sh", "-c", "sleep 60 & echo $! $$; wait"], {}, ()) as command:
    sys.stdout.write("watched\\n")  # one write: print makes two of an unbuffered one
    sys.stdout.flush()
    time.sleep(60)
"""
WAIT_S = 30.0


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


def await_end(*pids: int) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while any(map(lives, pids)) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    assert not [pid for pid in pids if lives(pid)]


@pytest.mark.slow
def test_a_command_and_its_children_end_with_a_killed_watcher() -> None:
    watcher = subprocess.Popen([sys.executable, "-c", WATCHING], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
    assert watcher.stdout is not None
    # The command may be quicker than the watcher, which names it to the guardian only once it runs: both lines, in either order.
    said = {watcher.stdout.readline().strip() for _ in range(2)}
    assert "watched" in said
    child, command = map(int, (said - {"watched"}).pop().split())
    assert lives(child)
    assert lives(command)
    watcher.send_signal(signal.SIGKILL)
    watcher.wait()
    await_end(child, command)


@pytest.mark.slow
def test_who_does_not_end_when_asked_is_made_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlperf.collect.stream.guardian.GRACE_S", 0.2)
    process = subprocess.Popen([sys.executable, "-S", "-c", STUBBORN], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    # Nobody but the parent can bury a process: until then it counts as one.
    pid = os.fork()
    if pid == 0:
        end_tree(process.pid)
        os._exit(0)
    assert process.wait(WAIT_S) == -signal.SIGKILL
    os.waitpid(pid, 0)


def test_a_dismissed_guardian_spares_the_command() -> None:
    process = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
    guardian = Guardian()
    guardian.guard(process.pid)
    guardian.dismiss()
    guardian.dismiss()
    assert process.poll() is None
    process.kill()
    process.wait()
