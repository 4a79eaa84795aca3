"""A recorder that is a program of its own: waited for, asked to end, forced to."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from mlperf.traces.sources.child import ERRORS, Child

READY = "part = sys.argv[1] + '.part'; open(part, 'w').write('x'); os.replace(part, sys.argv[1]); time.sleep(60)"
"""The file is there only when all before it is done and what it holds is written."""
WRITES = f"import os, sys, time; sys.stderr.write('words'); sys.stderr.flush(); {READY}"
STUBBORN = f"import os, signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); {READY}"


def test_it_is_ready_when_its_file_is(tmp_path: Path) -> None:
    child = Child()
    ready = tmp_path / "ready"
    child.start([sys.executable, "-c", WRITES, str(ready)], tmp_path, ready=ready)
    assert ready.read_text() == "x"
    assert child.stop(signal.SIGTERM) > 0
    assert child.exit_code == -signal.SIGTERM
    assert child.stop() == 0.0
    assert "words" in (tmp_path / ERRORS).read_text()


def test_it_tells_times_in_utc_and_numbers_with_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Readings of vmstat, mpstat and nvidia-smi tell no zone: in Tokyo they would lie nine hours behind the run.
    for name, value in (("TZ", "Asia/Tokyo"), ("LC_ALL", "de_DE.UTF-8"), ("KEPT", "yes")):
        monkeypatch.setenv(name, value)
    child = Child()
    code = "import os, time; print(time.localtime(0).tm_hour, *map(os.environ.get, ('LC_ALL', 'S_TIME_FORMAT', 'KEPT')))"
    with (tmp_path / "told").open("wb") as told:
        child.start([sys.executable, "-c", code], tmp_path, stdout=told)
        child.wait()
    assert (tmp_path / "told").read_text().split() == ["0", "C", "ISO", "yes"]


def test_one_that_dies_while_it_attaches_says_why(tmp_path: Path) -> None:
    child = Child()
    code = "import sys; print('first', file=sys.stderr); sys.exit('may not attach')"
    with pytest.raises(OSError, match="ended with exit code 1: may not attach"):
        child.start([sys.executable, "-c", code], tmp_path, ready=tmp_path / "never")
    assert child.stop() == 0.0
    assert child.exit_code == 1


def test_one_that_dies_later_says_why_and_one_that_was_asked_to_end_did_well(tmp_path: Path) -> None:
    child = Child()
    child.start([sys.executable, "-c", "import sys; sys.exit('no room')"], tmp_path)
    child.wait()
    assert (child.exit_code, child.failure.rpartition(": ")[2]) == (1, "no room")
    asked = Child()
    asked.start([sys.executable, "-c", WRITES, str(tmp_path / "ready")], tmp_path, ready=tmp_path / "ready")
    asked.stop(signal.SIGTERM)
    assert (asked.exit_code, asked.failure) == (-signal.SIGTERM, "")


def test_one_that_does_not_end_is_ended(tmp_path: Path) -> None:
    child = Child()
    child.start([sys.executable, "-c", STUBBORN, str(tmp_path / "ready")], tmp_path, ready=tmp_path / "ready")
    child._send(signal.SIGTERM)
    child.wait(0.1)
    assert child.exit_code == -signal.SIGKILL


def test_one_that_was_never_started_is_over() -> None:
    assert Child().stop() == 0.0
