"""Temporaries of killed processes go with the next one; those of living processes stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mlperf.core import temporaries
from mlperf.core.files import replacing
from mlperf.core.temporaries import scratch_folder, sweep

HOLDING = """
import sys, tempfile, time
from pathlib import Path
from mlperf.core.files import replacing
from mlperf.core.temporaries import scratch_folder
folder = Path(sys.argv[1])
tempfile.tempdir = str(folder)
with replacing(folder / "out") as stream, scratch_folder() as scratch:
    (scratch / "deep").mkdir()
    (scratch / "deep" / "file").write_text("x")
    stream.write(b"half")
    stream.flush()
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path) -> subprocess.Popen[str]:
    """A process that is writing."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.Popen([sys.executable, "-c", HOLDING, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.slow
def test_a_killed_process_leaves_what_the_next_one_removes(
    holder: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = (".mlperf-notes.part", "mlperf-scratch-mine", ".out.a1b2c3")
    for name in foreign:
        (tmp_path / name).touch()
    held = names(tmp_path)
    assert len(held) == 5
    monkeypatch.setattr(temporaries, "_swept", set())
    sweep(tmp_path)
    assert names(tmp_path) == held
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert names(tmp_path) == held
    monkeypatch.setattr(temporaries, "_swept", set())
    with replacing(tmp_path / "other") as stream:
        stream.write(b"1")
    assert names(tmp_path) == sorted([*foreign, "other"])


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT])
def test_an_interrupted_process_leaves_nothing(holder: subprocess.Popen[str], number: signal.Signals, tmp_path: Path) -> None:
    holder.send_signal(number)
    holder.wait()
    assert names(tmp_path) == []


def test_a_scratch_folder_goes_with_its_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with scratch_folder() as folder:
        assert folder.parent == tmp_path
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").touch()
    assert names(tmp_path) == []


def test_without_locks_files_are_written_and_nothing_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has no such locks."""
    monkeypatch.setattr(temporaries, "LOCKS", False)
    monkeypatch.setattr("mlperf.core.files.LOCKS", False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / ".mlperf-0123456789ab.part").touch()
    with replacing(tmp_path / "out") as stream, scratch_folder() as folder:
        stream.write(b"1")
        assert folder.is_dir()
    assert names(tmp_path) == [".mlperf-0123456789ab.part", "out"]
