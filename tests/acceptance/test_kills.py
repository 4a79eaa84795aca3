"""Writing commands that are ended from outside at random moments, and at the moment at which they begin to write.

Afterwards: the old file or the new one, no process left; and once the command has run again nothing temporary either, and the work
is complete. MLPERF_LONG=1 makes it 15 kills a command, and kills one more (120 in all).
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from invoked import invoke
from writing_commands import COMMANDS, OLD, Writing, is_whole, writing

import mlperf

LONG = os.environ.get("MLPERF_LONG") == "1"
N_KILLS = 15 if LONG else 2
N_BETWEEN = 3
"""Kills in a row, before the command may run to its end."""

PATIENCE_S = 60.0
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
ENDED = {
    signal.SIGKILL: {0, -signal.SIGKILL},
    signal.SIGTERM: {0, 130, -signal.SIGTERM, -signal.SIGINT},
    signal.SIGINT: {0, 130, -signal.SIGINT},
}
"""Exit codes: done before the signal came; told by us; by the system, while Python had not begun yet. SIGTERM is handled as Ctrl-C,
by which Python ends itself where it comes while nothing of ours can catch it any more."""

KILLED = {
    name: COMMANDS[name]
    for name in (
        "train table",
        *(["kernels page"] if LONG else []),  # Written by the same function as the page of a report.
        "report page",
        "features dwc-o",
        "data export",
        "collect asgd",
    )
} | {
    "collect": writing("collect kernels steps -o OUT --cnn @tiny.toml --subbatch 1 --rounds 1"),
    "collect contraction": writing("collect contraction -o OUT --n 8 --subset 2 --rounds 2 --build gcc"),
}
TABLES = {
    "collect": ("steps.csv",),
    "data export": ("components.csv", "runs.csv"),
    "collect contraction": ("times.csv",),
    "collect asgd": ("components.csv", "runs.csv"),
}
"""Tables that have as many rows after kills as without."""


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a command is killed: its inputs, its output, a folder for temporary files that its processes can be told by."""

    writing: Writing
    inputs: Path
    folder: Path

    @property
    def out(self) -> Path:
        return self.folder / "out" / f"result{self.writing.suffix}"

    @property
    def scratch(self) -> Path:
        return self.folder / "scratch"

    def start(self) -> subprocess.Popen[bytes]:
        paths = [str(Path(mlperf.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "TMPDIR": str(self.scratch), "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        command = [sys.executable, "-m", "mlperf", *self.writing.line(self.inputs, str(self.out))]
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def processes(self) -> Iterator[int]:
        """Living processes of the command and of what it started: they know its folder of temporary files."""
        mark = f"TMPDIR={self.scratch}".encode()
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    is_ours = mark in (folder / "environ").read_bytes().split(b"\0")
                    state = (folder / "stat").read_bytes().rpartition(b")")[2].split()[0]
                except (OSError, IndexError):
                    continue
                if is_ours and state != b"Z":
                    yield int(folder.name)

    def temporaries(self) -> list[Path]:
        # Walked, not globbed: folders may go while one looks.
        written = (Path(folder, name) for folder, *inside in os.walk(self.folder / "out") for names in inside for name in names)
        return [*(path for path in written if path.name.startswith(".mlperf-")), *self.scratch.glob("mlperf-*")]


def finish(ground: Ground) -> float:
    """Run to the end; seconds."""
    start_s = time.monotonic()
    process = ground.start()
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said.decode()
    return time.monotonic() - start_s


def run_again(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run to the end in this process: what the killed ones left is all that is asked about, not how one begins."""
    with monkeypatch.context() as patch:
        patch.setenv("TMPDIR", str(ground.scratch))
        patch.setattr(tempfile, "tempdir", None)
        invoke(*ground.writing.line(ground.inputs, str(ground.out)))


def end(ground: Ground, number: signal.Signals, after_s: float, *, at_write: bool) -> float:
    """Start the command and send a signal: after some time, or as soon as it has begun to write; seconds until then."""
    start_s = time.monotonic()
    process = ground.start()
    deadline_s = start_s + after_s
    while process.poll() is None and time.monotonic() < deadline_s:
        if at_write and ground.temporaries():
            break
        time.sleep(0.0002 if at_write else 0.002)
    sent_s = time.monotonic() - start_s
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE_S)
    # Python itself may be interrupted before it has begun with us.
    if not (process.returncode == 1 and b"KeyboardInterrupt" in said and b"/mlperf/" not in said):
        assert process.returncode in ENDED[number], said.decode()
        assert process.returncode <= 0 or b"Traceback" not in said
    check_orphans(ground)
    return sent_s


def check_orphans(ground: Ground) -> None:
    """Whatever the command had started ends soon after it."""
    deadline_s = time.monotonic() + PATIENCE_S
    while list(ground.processes()) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    assert not list(ground.processes())


def check_files(ground: Ground) -> None:
    """The old file or the new one; in a folder, files that can be read to their end."""
    if ground.writing.suffix:
        content = ground.out.read_bytes()
        assert content == OLD or is_whole(content, ground.writing.suffix)
        return
    for path in ground.out.rglob("*.csv*"):
        assert path.name.startswith(".") or is_whole(path.read_bytes(), "".join(path.suffixes)[-7:]), path.name


def n_lines(ground: Ground, names: tuple[str, ...]) -> dict[str, int]:
    """Length of some tables."""
    return {name: len((ground.out / name).read_text(encoding="utf-8").splitlines()) for name in names}


@pytest.mark.slow
@pytest.mark.parametrize("command", KILLED)
def test_a_killed_command_leaves_the_old_or_the_new_and_nothing_else(
    command: str, written_inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground = Ground(KILLED[command], written_inputs, tmp_path)
    rng = random.Random(zlib.crc32(command.encode()))
    ground.scratch.mkdir()
    clear(ground)
    # A file is written at the end: when that begins, at the first kill, tells how long the command takes.
    whole_s = PATIENCE_S if ground.writing.suffix else finish(ground)
    tables = TABLES.get(command, ())
    lines = n_lines(ground, tables)
    clear(ground)
    for kill in range(N_KILLS):
        number = SIGNALS[kill % len(SIGNALS)] if LONG else rng.choice(SIGNALS)
        at_write = kill % 2 == 0
        sent_s = end(ground, number, whole_s if at_write else rng.uniform(0.0, 1.1 * whole_s), at_write=at_write)
        whole_s = min(whole_s, sent_s) if ground.writing.suffix and at_write else whole_s
        check_files(ground)
        if kill % N_BETWEEN == N_BETWEEN - 1 or kill == N_KILLS - 1:
            run_again(ground, monkeypatch)
            check_files(ground)
            check_orphans(ground)
            assert not ground.writing.suffix or ground.out.read_bytes() != OLD
            assert n_lines(ground, tables) == lines
            assert not ground.temporaries()
            clear(ground)


def clear(ground: Ground) -> None:
    """The old content for the next kills."""
    shutil.rmtree(ground.out.parent, ignore_errors=True)
    ground.out.parent.mkdir()
    if ground.writing.suffix:
        ground.out.write_bytes(OLD)
