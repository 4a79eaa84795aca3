"""Closed streams, streams that take nothing, and requests to end: what the shell and the system may do to a command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mlperf.cli.framework.process import AGAIN_AFTER_S, COLLECT_AFTER, ended_like_ctrl_c

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = line.replace("mlperf ", f"{sys.executable} -m mlperf ")
    return subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, env=ENVIRONMENT, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("mlperf data template steps -o steps.csv <&- >&- 2>&-", 0),
        ("mlperf data columns steps >&-", 0),
        ("mlperf data columns steps > /dev/full", 3),
        ("PYTHONUNBUFFERED=1 mlperf data columns steps 2>&1 > /dev/full | grep '^the standard output: cannot be written'", 0),
        ("mlperf data columns steps 2> /dev/full > /dev/full", 3),
        ("mlperf data columns nonsense 2> /dev/full", 2),
        ("set -o pipefail; mlperf data columns steps | true", 141),
        ("mlperf data template steps -o /dev/stdout | grep -q cnn", 0),
        ("mlperf data template steps --force -o /dev/stdout > steps.csv; grep -q cnn steps.csv", 0),
        ("mlperf data template steps -o >(cat > steps.csv); sleep 0.5; grep -q cnn steps.csv", 0),
        ("LC_ALL=C PYTHONUTF8=0 PYTHONIOENCODING=ascii mlperf data columns steps", 0),
    ],
)
def test_streams_that_are_closed_or_full(line: str, code: int, tmp_path: Path) -> None:
    done = shell(line, tmp_path)
    # A pipe may take everything before its reader is gone.
    assert done.returncode == code or (code == 141 and done.returncode == 0), done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    written = tmp_path / "steps.csv"
    assert not written.exists() or written.read_text(encoding="utf-8").startswith(("backend", "cnn"))


def end_this_process(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)
    time.sleep(5.0)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_request_to_end_is_like_ctrl_c(name: str) -> None:
    number = getattr(signal, name)
    outside = signal.signal(number, signal.SIG_DFL)  # under nohup the tests would begin with it ignored
    try:
        with pytest.raises(KeyboardInterrupt), ended_like_ctrl_c():
            end_this_process(number)
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, outside)


class Closing:
    """What runs when an object goes: exceptions of it are only printed."""

    def __init__(self, *faults: Exception, number: int = signal.SIGINT) -> None:
        self.faults, self.number = faults, number

    def __del__(self) -> None:
        if self.faults:
            raise self.faults[0]
        os.kill(os.getpid(), self.number)
        time.sleep(5.0)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What would have been printed of exceptions that nobody can catch."""
    found: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: found.append(lost.exc_type))
    return found


def wait_within(*closed: Closing) -> None:
    """Let objects go, then work for long."""
    kept = list(closed)
    del closed
    with ended_like_ctrl_c():
        while kept:
            kept.pop(0)
        time.sleep(5.0)


def test_ctrl_c_that_comes_within_a_callback_is_not_lost(shown: list[object]) -> None:
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        wait_within(Closing())
    assert time.monotonic() - begun < 4.0
    assert shown == []


def test_what_an_interrupted_callback_leaves_is_not_told(shown: list[object]) -> None:
    with pytest.raises(KeyboardInterrupt):
        wait_within(Closing(), Closing(RuntimeError("cannot release un-acquired lock")))
    assert shown == []


def test_faults_of_callbacks_are_told_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[object] = []
    # Within the test: older pytest puts a hook of its own there after its fixtures.
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: shown.append(lost.exc_type))
    with ended_like_ctrl_c():
        Closing(RuntimeError("a fault of its own"))
    assert shown == [RuntimeError]
    Closing(ValueError("after the block"))
    assert shown == [RuntimeError, ValueError]


def test_a_lost_request_ends_with_what_it_would_end(shown: list[object]) -> None:
    with ended_like_ctrl_c():
        Closing()
    time.sleep(5 * AGAIN_AFTER_S)
    assert shown == []


def test_what_the_caller_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ended_like_ctrl_c():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_command_looks_for_garbage_less_often() -> None:
    asking = "import atexit, gc; atexit.register(lambda: print(gc.get_threshold())); from mlperf.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", asking, "data", "columns", "steps"], capture_output=True, text=True, check=True)
    assert done.stdout.endswith(f"{COLLECT_AFTER}\n")
