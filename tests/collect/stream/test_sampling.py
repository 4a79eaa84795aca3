"""Samples of real processes against what the system says by other means."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mlperf.collect.stream import command as command_module
from mlperf.collect.stream.command import WatchedCommand
from mlperf.collect.stream.instructions import TASK_CLOCK, Absent, open_counter
from mlperf.collect.stream.interrupts import Interrupts
from mlperf.collect.stream.machine import Machine
from mlperf.collect.stream.processes import ProcessTree, descends
from mlperf.collect.stream.ticks import ticks
from mlperf.core.errors import MissingExtraError, UsageError

BURN = "import time\nend = time.process_time() + {seconds}\nwhile time.process_time() < end: pass\n"


def burn(seconds: float) -> list[str]:
    return [sys.executable, "-S", "-c", BURN.format(seconds=seconds)]


def test_a_tree_counts_the_processor_time_of_children_that_ended() -> None:
    """Against getrusage of the waited-for children: two of a shell's, one after the other."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = f"import subprocess, sys\nfor _ in range(2): subprocess.run({burn(0.15)!r})\n"
    process = subprocess.Popen([sys.executable, "-S", "-c", code])
    tree = ProcessTree(process.pid)
    found = [tree.sample()]
    most = 0.0
    while process.poll() is None:
        found.append(tree.sample())
        most = max(most, found[-1]["w_processes"])
        time.sleep(0.02)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert most >= 2
    for name in ("cpu_ns", "w_utime", "w_minflt", "w_run_ns"):
        values = [each[name] for each in found if name in each]
        assert values == sorted(values), f"{name} fell"
    assert found[-1]["cpu_ns"] * 1e-9 == pytest.approx(used_s, abs=0.1)


def test_descendants_are_found_through_any_number_of_parents() -> None:
    parents = {10: 1, 11: 10, 12: 11, 20: 1, 30: 31, 31: 30}
    assert [pid for pid in parents if descends(pid, parents, {10})] == [10, 11, 12]


def test_the_machine_counts_what_the_kernel_counts() -> None:
    first, second = Machine().sample(), Machine().sample()
    assert second["ctxt"] >= first["ctxt"] > 0
    assert second["cpu_user"] + second["cpu_idle"] > 0
    assert {"intr", "processes", "procs_running", "pgfault", "load1", "MemFree"} <= first.keys()


def test_a_system_without_proc_is_named(tmp_path) -> None:
    with pytest.raises(MissingExtraError, match="stat"):
        Machine(tmp_path)


def test_an_event_counts_or_says_why_not() -> None:
    """The task clock is a software event: wherever events may be opened it agrees with the process's own clock."""
    counter = open_counter(os.getpid(), TASK_CLOCK)
    if isinstance(counter, Absent):
        assert counter.reason
        return
    before, start_s = counter.read(), time.thread_time()
    sum(range(2_000_000))
    counted_s, used_s = (counter.read() - before) * 1e-9, time.thread_time() - start_s
    counter.close()
    assert counted_s == pytest.approx(used_s, rel=0.2, abs=0.01)


def test_instructions_are_counted_or_their_absence_is_explained() -> None:
    counter = open_counter(os.getpid())
    if isinstance(counter, Absent):
        assert len(counter.reason) > 10
    else:
        assert counter.read() > 0
        counter.close()


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


def test_ticks_keep_the_grid_and_pass_over_what_was_missed() -> None:
    now = [100.0]

    def sleep(seconds: float) -> bool:
        now[0] += seconds
        return now[0] > 103.9

    found = []
    for number, t_s in enumerate(ticks(0.5, clock=lambda: now[0], sleep=sleep)):
        found.append(round(t_s, 6))
        now[0] += 1.2 if number == 2 else 0.1
    assert found == [0.0, 0.5, 1.0, 2.5, 3.0, 3.5]


def test_the_first_signal_is_noted_and_the_second_interrupts() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), Interrupts() as interrupts:  # noqa: PT012 - the second signal is the one
        assert not interrupts.came
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupts.came
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) == before


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
