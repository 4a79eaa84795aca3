"""A command that is held, released, read after its end, and never left behind."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mlperf.collect.counters.launch import launched
from mlperf.core.errors import InterruptedRun, UsageError

pytestmark = pytest.mark.slow

TOUCHING = """
import mmap, sys
memory = mmap.mmap(-1, 4096 * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_NOHUGEPAGE) if hasattr(mmap, "MADV_NOHUGEPAGE") else None
for page in range(int(sys.argv[1])):
    memory[page * mmap.PAGESIZE] = 1
"""


def run(*command: str) -> tuple[int, float, dict[str, float]]:
    with launched(command) as child:
        child.release()
        end = child.wait()
        return end.exit_code, end.wall_s, dict(child.usage())


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137), ("kill -TERM $$", 143), ("exec false", 1)]
)
def test_the_exit_code_is_the_commands_own_and_a_signal_as_shells_say_it(script: str, code: int) -> None:
    assert run("sh", "-c", script)[0] == code


def test_nothing_runs_before_the_release(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with launched(["touch", str(mark)]) as child:
        time.sleep(0.1)
        assert not mark.exists()
        child.release()
        child.wait()
        assert mark.exists()


def test_its_files_in_proc_stay_until_the_usage_is_read() -> None:
    with launched(["true"]) as child:
        child.release()
        child.wait()
        assert Path(f"/proc/{child.pid}/stat").read_text(encoding="ascii").split(")")[1].split()[0] == "Z"
        child.usage()
        assert not Path(f"/proc/{child.pid}").exists()


def test_the_wall_time_is_that_of_the_command() -> None:
    assert 0.2 <= run("sleep", "0.2")[1] < 2.0


def test_faults_are_those_that_the_kernel_counts_for_the_same_program() -> None:
    """More pages touched, as many more faults; the same difference as between two children of our own."""
    few, many = (run(sys.executable, "-S", "-c", TOUCHING, str(pages))[2]["minor_faults"] for pages in (500, 3500))
    assert many - few == pytest.approx(3000, abs=60)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
    subprocess.run([sys.executable, "-S", "-c", TOUCHING, "500"], check=True)
    own = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before
    assert few == pytest.approx(own, rel=0.3)


def test_children_that_the_command_waits_for_count() -> None:
    touching = (sys.executable, "-S", "-c", TOUCHING, "3000")
    alone, nested = (run(*shell, *touching)[2]["minor_faults"] for shell in ((), ("sh", "-c", '"$@"; true', "sh")))
    assert 3000 < nested < 1.3 * alone


@pytest.mark.parametrize(
    ("command", "says"),
    [((), "no command"), (("no-such-program-here",), "no program on the PATH"), (("./x",), "no program on the PATH")],
)
def test_a_missing_command_is_wrong_use(command: tuple[str, ...], says: str) -> None:
    with pytest.raises(UsageError, match=says), launched(command):
        pass


def test_a_file_that_may_not_run_and_one_that_cannot_are_wrong_use(tmp_path: Path) -> None:
    file = tmp_path / "program"
    file.write_bytes(b"\x7fELF\x00\x00")
    with pytest.raises(UsageError, match="no program that may be run"), launched([str(file)]):
        pass
    file.chmod(0o755)
    with pytest.raises(UsageError, match="the system cannot run"):
        run(str(file))


def interrupted(started: list[int]) -> None:
    """Run a shell with two children, note all three, and press Ctrl-C."""
    with launched(["sh", "-c", "sleep 60 & sleep 60"]) as child:
        child.release()
        listing = Path(f"/proc/{child.pid}/task/{child.pid}/children")
        while len(listing.read_text(encoding="ascii").split()) < 2:
            time.sleep(0.01)
        started += [child.pid, *map(int, listing.read_text(encoding="ascii").split())]
        raise KeyboardInterrupt


def test_an_interruption_ends_the_command_and_what_it_started() -> None:
    started: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(started)
    for pid in started:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def launcher_killed() -> None:
    """Run a command and kill both it and the process that started it."""
    with launched(["sleep", "60"]) as child:
        child.release()
        parent = Path(f"/proc/{child.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[1]
        for pid in (int(parent), child.pid):
            os.kill(pid, signal.SIGKILL)
        child.wait()


def test_a_launcher_ended_from_outside_is_an_interruption() -> None:
    with pytest.raises(InterruptedRun):
        launcher_killed()
