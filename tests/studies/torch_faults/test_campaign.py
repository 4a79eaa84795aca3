"""Commands of the PyTorch runs, and one row with a program and a TraceML of our own making: neither is needed here."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mlperf.core.errors import InterruptedRun
from mlperf.studies.torch_faults.campaign import launcher, one_torch_row, options_of, traceml_verdict
from mlperf.studies.torch_faults.protocol import read_torch_protocol

pytestmark = pytest.mark.slow

PROTOCOL = read_torch_protocol(Path(__file__).parents[2] / "acceptance" / "torch_faults.toml")
SUMMARY = (
    '{"schema_version": 1.9, "analysis_window": {}, "primary_diagnosis": {"status": "INPUT-BOUND", "summary": "waits"},'
    ' "step_time": {"global": {"window": {"steps_analyzed": 9}}, "groups": {"rows": {"0": {"metrics": {"step_time_ms": 9.0}}}}}}'
)
TRACEML = """#!{python}
import pathlib, sys
words = sys.argv[1:]
folder = pathlib.Path(words[words.index("--logs-dir") + 1]) / words[words.index("--run-name") + 1]
folder.mkdir(parents=True)
(folder / "final_summary.json").write_text({summary!r})
(folder.parent.parent / "words.txt").write_text(" ".join(words))
sys.exit({code})
"""
PROGRAM = """
import json, pathlib, sys, time
from mlperf.traces.recording import region
words = sys.argv[1:]
times = []
for _ in range(8):
    begun = time.perf_counter()
    with region("step"):
        with region("load"):
            time.sleep(0.002 if "--mended" in words else 0.03)
        with region("forward"):
            time.sleep(0.005)
    times.append(time.perf_counter() - begun)
pathlib.Path(words[words.index("--times") + 1]).write_text(json.dumps({"step_s": times}))
"""


def fake_traceml(folder: Path, code: int = 0) -> Path:
    path = folder / "traceml"
    path.write_text(TRACEML.format(python=sys.executable, summary=SUMMARY, code=code))
    path.chmod(0o755)
    return path


def test_commands() -> None:
    assert options_of(PROTOCOL, "lock", 2)[:6] == ["--fault", "lock", "--steps", "40", "--seed", "2"]
    assert options_of(PROTOCOL, "ranks-none", 0)[:2] == ["--fault", "none"]
    assert launcher(PROTOCOL, "lock") == [sys.executable]
    assert launcher(PROTOCOL, "slow-rank")[-2:] == ["--nproc-per-node", "3"]


def test_traceml_is_run_with_the_same_options(tmp_path: Path) -> None:
    found = traceml_verdict(PROTOCOL, Path("torch_train.py"), "slow-rank", 1, fake_traceml(tmp_path), tmp_path)
    assert found == "INPUT-BOUND"
    words = (tmp_path / "words.txt").read_text()
    assert "--nproc-per-node 3 torch_train.py --args --traceml --fault slow-rank --steps 40 --seed 1" in words
    assert traceml_verdict(PROTOCOL, Path("torch_train.py"), "lock", 1, None, tmp_path) == ""


def test_a_traceml_that_fails_stops_the_campaign(tmp_path: Path) -> None:
    with pytest.raises(InterruptedRun, match="ended with 3"):
        traceml_verdict(PROTOCOL, Path("torch_train.py"), "lock", 1, fake_traceml(tmp_path, 3), tmp_path)


def test_a_row(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    row = one_torch_row(replace(PROTOCOL, steps=8), tmp_path / "program.py", "slow-loader", 0, fake_traceml(tmp_path))
    assert (row["n_steps"], row["n_logged"], row["cause"], row["traceml"]) == (8, 8, "input", "INPUT-BOUND")
    assert row["mended_s"] < row["step_s"]
