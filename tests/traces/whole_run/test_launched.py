"""Commands behind a gate, and all that they started ended with them."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from mlperf.traces.whole_run import launched
from mlperf.traces.whole_run.launched import Launched

pytestmark = pytest.mark.slow

TREE = """
import subprocess, sys, time
code = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('there', flush=True); time.sleep(60)"
child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
child.stdout.readline()
open(sys.argv[1] + ".new", "w").write(str(child.pid))
import os
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(60)
"""


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def ends(pid: int) -> bool:
    """A process that has been killed ends as soon as a busy machine comes to it; left alone it runs for a minute."""
    until = time.monotonic() + 20
    while is_running(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not is_running(pid)


def test_it_runs_when_the_gate_opens(tmp_path: Path) -> None:
    found = Launched(["sh", "-c", "exit 3"], os.environ, tmp_path / "gate")
    found.open_gate()
    status, usage = found.wait()
    found.close()
    assert os.waitstatus_to_exitcode(status) == 3
    assert min(usage) >= 0
    assert not (tmp_path / "gate").exists()


def test_interrupted_at_the_gate_it_says_nothing_and_runs_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = Launched(["touch", str(tmp_path / "ran")], os.environ, tmp_path / "gate")
    # By then the shell waits for the gate to be opened.
    time.sleep(0.2)
    found.end()
    found.close()
    assert capfd.readouterr().err == ""
    assert not (tmp_path / "ran").exists()


def test_nobody_waits_for_a_command_that_ended_at_the_gate(tmp_path: Path) -> None:
    found = Launched(["true"], os.environ, tmp_path / "gate")
    os.kill(found.pid, signal.SIGKILL)
    # Hung for ever where the gate was opened without looking.
    found.open_gate()
    assert os.waitstatus_to_exitcode(found.wait()[0]) == -signal.SIGKILL
    found.close()


def test_what_the_command_started_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launched, "REST_S", 0.2)
    told = tmp_path / "pid"
    found = Launched([sys.executable, "-c", TREE, str(told)], os.environ, tmp_path / "gate")
    found.open_gate()
    until = time.monotonic() + 30
    while not told.exists() and time.monotonic() < until:
        time.sleep(0.01)
    grandchild = int(told.read_text())
    assert is_running(grandchild)
    status, _ = found.end()
    found.close()
    assert os.waitstatus_to_exitcode(status) in (-signal.SIGINT, 1)
    assert ends(grandchild)


def test_at_a_terminal_an_orphan_is_known_by_its_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal interrupts the command before we look: what it leaves behind has another parent by then."""
    monkeypatch.setattr(launched, "REST_S", 0.2)
    monkeypatch.setattr(os, "isatty", lambda _number: True)
    told = tmp_path / "pid"
    found = Launched([sys.executable, "-c", TREE, str(told)], os.environ, tmp_path / "gate")
    found.open_gate()
    until = time.monotonic() + 30
    while not told.exists() and time.monotonic() < until:
        time.sleep(0.01)
    grandchild = int(told.read_text())
    assert os.getpgid(grandchild) == os.getpgrp()
    os.kill(found.pid, signal.SIGKILL)
    found.wait()
    assert is_running(grandchild)
    found.end()
    found.close()
    assert ends(grandchild)
