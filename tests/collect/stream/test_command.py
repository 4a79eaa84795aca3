"""Watched commands: started, ended, their exit codes handed on."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from mlperf.collect.stream import command as command_module
from mlperf.collect.stream.command import WatchedCommand
from mlperf.collect.stream.processes import ProcessTree
from mlperf.core.errors import UsageError

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("code", "expected"), [("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137)])
def test_the_exit_code_is_the_commands_own(code: str, expected: int) -> None:
    with WatchedCommand([sys.executable, "-S", "-c", code], {}, ()) as command:
        while not command.wait(0.05):
            pass
    assert command.exit_code == expected


def test_leaving_ends_the_command() -> None:
    with WatchedCommand([sys.executable, "-S", "-c", "import time; time.sleep(60)"], {"A": "1"}, ()) as command:
        assert not command.wait(0.0)
    assert command.exit_code in {1, 130}


@pytest.mark.parametrize("command", [[], ["no-such-program-anywhere"]])
def test_no_program_is_wrong_use(command: list[str]) -> None:
    with pytest.raises(UsageError, match=r"command|run"):
        WatchedCommand(command, {}, ())


def test_a_command_that_ignores_ctrl_c_is_ended_with_what_it_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_module, "OWN_END_S", 0.1)
    monkeypatch.setattr(command_module, "PATIENCE_S", 0.2)
    ignoring = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {ignoring!r}])"
    with (
        Path(os.devnull).open("w") as nowhere,
        WatchedCommand([sys.executable, "-S", "-c", code], {}, (), nowhere.fileno()) as command,
    ):
        tree = ProcessTree(command.pid)
        deadline = time.monotonic() + 20.0
        while not tree.descendants and time.monotonic() < deadline:
            tree.sample()
            time.sleep(0.02)
        (child,) = tree.descendants
        command.end(tree.descendants)
        assert command.exit_code in {1, 130, 143}
    deadline = time.monotonic() + 10.0
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{child}").exists()
