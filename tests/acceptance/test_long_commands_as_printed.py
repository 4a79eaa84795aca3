"""The printed commands that take long, each run as printed for a while: it ends well, or Ctrl-C ends it as it should.

MLPERF_LONG=1 runs all of them, in half an hour; else a few begin. MLPERF_PATIENCE_S is how long a command may run before it is
interrupted.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from printed_commands import TAKE_LONG, as_a_shell, words
from reader_campaigns import measuring

LONG = os.environ.get("MLPERF_LONG") == "1"
PATIENCE_S = float(os.environ.get("MLPERF_PATIENCE_S", "20" if LONG else "4"))
BEGUN = ("mlperf collect canonical -- -o constants --quick", "mlperf features gain cpu-epyc")
ENDING_S = 60.0
WANTS = {"gcc": "gcc", "--cachegrind": "valgrind", "cachegrind": "valgrind", "collect contraction": "gcc"}
"""Programs that a command runs, by a part of it."""

pytestmark = pytest.mark.slow


def test_what_begins_is_printed() -> None:
    assert set(BEGUN) <= set(TAKE_LONG)


@pytest.fixture(scope="module")
def begun(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a reader has; nothing for the few that need nothing."""
    folder = tmp_path_factory.mktemp("measuring")
    if LONG:
        measuring(folder, request.getfixturevalue("small_campaign"), request.getfixturevalue("small_model"))
    return folder


def ended(arguments: list[str], folder: Path) -> tuple[int, str]:
    """Exit code and what was written on stderr of a command that is interrupted as by Ctrl-C when it has run long enough."""
    command = [sys.executable, "-m", "mlperf", *arguments]
    log = folder / "stderr.txt"
    with log.open("wb") as stderr:
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=stderr, start_new_session=True)
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGINT)
            process.wait(ENDING_S)
    return process.returncode, log.read_text(encoding="utf-8", errors="replace")


@pytest.mark.parametrize("command", TAKE_LONG if LONG else BEGUN)
def test_what_takes_long_begins_and_ends_as_it_should(
    command: str, begun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = [program for part, program in WANTS.items() if part in command and shutil.which(program) is None]
    if missing:
        pytest.skip(f"{missing[0]} is not installed")
    if "torch" in command and find_spec("torch") is None:
        pytest.skip("torch is not installed")
    reads_open_data = "simd_tensor" in command or ("accuracy" in command and "--trainer" not in command)
    if reads_open_data and "MLPERF_SHARED_DATA" not in os.environ:
        pytest.skip("MLPERF_SHARED_DATA is not set: the open data are read in place and not part of the repository")
    shutil.copytree(begun, tmp_path / "reader")
    limits = "trainer.toml" if "--trainer" in command else "open_data.toml"
    shutil.copy(Path(__file__).parent / limits, tmp_path / "reader" / "limits.toml")
    output = re.search(r"(?:^| )(?:-o|--out) ([\w.-]+/?)(?: |$)", command)
    if output is not None and (tmp_path / "reader" / output[1]).is_dir() and " collect " in f" {command} ":
        shutil.rmtree(tmp_path / "reader" / output[1])
    monkeypatch.chdir(tmp_path / "reader")
    code, stderr = ended(as_a_shell(words(command)), tmp_path / "reader")
    # Where Ctrl-C comes while Python ends already, the system ends it.
    assert code in (0, 1, 130, -signal.SIGINT), stderr
    assert "Traceback" not in stderr, stderr
