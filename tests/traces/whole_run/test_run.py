"""Commands that are recorded: what is kept however they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.traces.events.kinds import Kind
from mlperf.traces.sources.process_tree import ProcessTree
from mlperf.traces.sources.source import ABSENT, Probe
from mlperf.traces.whole_run.read import read_document, read_recording
from mlperf.traces.whole_run.recorded import recorded_run
from mlperf.traces.whole_run.request import DOCUMENT, RunRequest
from mlperf.traces.whole_run.run import probe_sources, record_run

pytestmark = pytest.mark.slow

PROGRAM = """
import sys, time
from mlperf.traces.recording import region
for _ in range(5):
    with region("step"):
        with region("load"):
            time.sleep(0.02)
        with region("update", 100):
            until = time.process_time() + 0.02
            while time.process_time() < until:
                pass
"""
SOURCES = ("marks", "python", "machine", "tree")


def program(tmp_path: Path, rest: str = "") -> list[str]:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM + rest)
    return [sys.executable, str(path)]


def request(tmp_path: Path, command: list[str]) -> RunRequest:
    return RunRequest(tuple(command), tmp_path / "out", SOURCES, memory=False)


def test_a_run_is_on_one_clock(tmp_path: Path) -> None:
    before = time.time_ns()
    document = record_run(request(tmp_path, program(tmp_path)))
    assert document["command_exit_code"] == 0
    found = read_recording(tmp_path / "out")
    assert before < found.events.origin_ns < time.time_ns()
    steps = found.events.take(found.events.kind == Kind.REGION)
    assert steps.text(steps.name).count("step") == 5
    assert steps.start_ns.min() >= 0
    assert steps.end_ns.max() <= found.end_ns
    times = found.counters.time_ns
    assert -1e9 < times.min() < times.max() < found.end_ns + 1e9
    shown = recorded_run(found)
    assert shown.n_marks == 15
    assert shown.cpu_s > 0.1
    assert shown.sources["source"].tolist() == ["marks", "python", "machine", "tree"]
    assert not (tmp_path / "out" / "gate").exists()


@pytest.mark.parametrize(
    ("rest", "code"),
    [("sys.exit(7)", 7), ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 128 + signal.SIGSEGV), ("1 / 0", 1)],
)
def test_a_run_that_fails_is_kept(tmp_path: Path, rest: str, code: int, capfd: pytest.CaptureFixture[str]) -> None:
    assert record_run(request(tmp_path, program(tmp_path, "time.sleep(0.3)\n" + rest)))["command_exit_code"] == code
    found = read_recording(tmp_path / "out")
    # A process that a signal ends loses the last quarter of a second of marks at most.
    assert found.events.text(found.events.name).count("step") >= (5 if code < 128 else 0)
    assert (found.events.kind == Kind.STACK).any()
    capfd.readouterr()


def test_an_interrupted_run_is_kept(tmp_path: Path) -> None:
    child = tmp_path / "child.py"
    child.write_text(PROGRAM + "print('steps done', flush=True)\ntime.sleep(60)\n")
    code = (
        "import sys; from pathlib import Path; from mlperf.traces.whole_run.request import RunRequest; "
        "from mlperf.traces.whole_run.run import record_run; "
        f"record_run(RunRequest((sys.executable, {str(child)!r}), Path({str(tmp_path / 'out')!r}), {SOURCES!r}, memory=False))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    ) as recorder:
        assert recorder.stdout is not None
        assert recorder.stdout.readline() == b"steps done\n"
        os.killpg(recorder.pid, signal.SIGINT)
        recorder.communicate(timeout=60)
    document = read_document(tmp_path / "out")
    assert document["interrupted"]
    found = read_recording(tmp_path / "out")
    assert found.events.text(found.events.name).count("step") == 5
    assert found.interrupted_ns is not None
    assert 0 < found.interrupted_ns <= found.end_ns


@pytest.mark.parametrize("is_there", [False, True])
def test_an_interrupt_before_the_command_begins_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mlperf.traces.whole_run.run.host_facts", interrupted)
    out = tmp_path / "out"
    if is_there:
        out.mkdir()
        (out / "mine").write_text("kept")
    with pytest.raises(KeyboardInterrupt):
        record_run(RunRequest((sys.executable, "-c", "pass"), out, SOURCES))
    # What was there before is nobody else's to remove.
    assert (out / "mine").exists() if is_there else not out.exists()


def test_what_is_preloaded_stays_behind_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "mine.py").write_text("VALUE = 3\n")
    monkeypatch.setenv("PYTHONPATH", str(own))
    command = [sys.executable, "-c", "import mine, sys; sys.exit(mine.VALUE)"]
    assert record_run(request(tmp_path, command))["command_exit_code"] == 3


def test_requests_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no command"):
        RunRequest((), tmp_path)
    with pytest.raises(UsageError, match="no program on the PATH"):
        RunRequest(("no-such-program",), tmp_path)
    (tmp_path / DOCUMENT).write_text("{}")
    with pytest.raises(UsageError, match="holds a recording"):
        RunRequest(("true",), tmp_path)


def test_a_probe_that_fails_is_an_absent_source() -> None:
    class Broken:
        name = "broken"

        def probe(self) -> Probe:
            raise OSError("no luck")

    assert probe_sources([Broken()])["broken"] == Probe(ABSENT, "looking for it failed: no luck")  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "not of format"),
        (json.dumps({"format": "mlperf-recording", "version": 9}), "got version 9"),
        (json.dumps({"format": "mlperf-recording", "version": 1, "start_ns": "x"}), "key start_ns"),
    ],
)
def test_a_wrong_document_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=r"holds no recording\.json"):
        read_document(tmp_path)
    (tmp_path / DOCUMENT).write_text(text)
    with pytest.raises(DataError, match=message):
        read_recording(tmp_path)


def test_a_source_that_cannot_begin_does_not_keep_the_command_from_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_self: object, _pid: int) -> None:
        raise OSError("no luck")

    monkeypatch.setattr(ProcessTree, "follow", refuse)
    document = record_run(request(tmp_path, [sys.executable, "-c", "raise SystemExit(4)"]))
    assert document["command_exit_code"] == 4
    assert {row["source"]: row.get("failed") for row in document["sources"]}["tree"] == "no luck"
    assert "source tree failed: no luck" in recorded_run(read_recording(tmp_path / "out")).notes


def test_a_source_that_cannot_prepare_does_not_keep_the_command_from_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_self: object, _folder: Path) -> dict[str, str]:
        raise OSError("no room")

    monkeypatch.setattr(ProcessTree, "prepare", refuse)
    document = record_run(request(tmp_path, [sys.executable, "-c", "raise SystemExit(4)"]))
    assert document["command_exit_code"] == 4
    rows = {row["source"]: row for row in document["sources"]}
    assert (rows["tree"]["status"], rows["tree"]["reason"]) == ("absent", "no room")
    assert rows["machine"]["status"] == "ok"


def test_a_recorder_that_dies_is_absent_with_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    # Answers the probe, and is refused where it shall attach.
    (tools / "nvidia-smi").write_text(
        '#!/bin/sh\ncase "$1" in -L) echo "GPU 0: of the test";; topo) exit 1;; *) echo "lost the GPU" >&2; exit 9;; esac\n'
    )
    (tools / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    asked = RunRequest((sys.executable, "-c", "pass"), tmp_path / "out", ("nvidia-smi", "tree"), memory=False)
    row = record_run(asked)["sources"][0]
    if row["source"] != "nvidia-smi":
        row = next(each for each in read_document(tmp_path / "out")["sources"] if each["source"] == "nvidia-smi")
    assert (row["status"], row["reason"]) == ("absent", "nvidia-smi ended with exit code 9: lost the GPU")
    assert row["recorder_exit_codes"] == [9]


def test_a_recorder_that_is_killed_leaves_a_recording(tmp_path: Path) -> None:
    child = tmp_path / "child.py"
    child.write_text(PROGRAM + "time.sleep(0.3)\nprint('steps done', flush=True)\ntime.sleep(60)\n")
    code = (
        "import sys; from pathlib import Path; from mlperf.traces.whole_run.request import RunRequest; "
        "from mlperf.traces.whole_run.run import record_run; "
        f"record_run(RunRequest((sys.executable, {str(child)!r}), Path({str(tmp_path / 'out')!r}), {SOURCES!r}, memory=False))"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as recorder:
        assert recorder.stdout is not None
        assert recorder.stdout.readline() == b"steps done\n"
        recorder.kill()
        recorder.communicate(timeout=60)
    found = read_recording(tmp_path / "out")
    assert any("the recording is unfinished" in note for note in found.events.notes)
    assert (found.events.kind == Kind.STACK).any()
    assert found.end_ns == max(found.events.end_ns.max(), found.counters.time_ns.max()) > 2e8
