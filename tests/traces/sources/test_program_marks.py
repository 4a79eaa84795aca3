"""Marks of a program that runs under the source."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from mlperf.traces.sources.program_marks import ProgramMarks

PROGRAM = """
from mlperf.traces.recording import region
for _ in range(3):
    with region("step"):
        with region("update", size_bytes=64):
            pass
"""


def test_marks_come_back(tmp_path: Path) -> None:
    source = ProgramMarks()
    variables = {**os.environ, **source.prepare(tmp_path), "PMI_RANK": "2"}
    source.follow(0)
    subprocess.run([sys.executable, "-c", PROGRAM], env=variables, check=True)
    assert source.stop() == 0.0
    found = source.read(tmp_path).events
    assert found is not None
    assert sorted(found.text(found.name)) == ["step"] * 3 + ["update"] * 3
    assert set(found.rank.tolist()) == {2}
    assert found.size_bytes.sum() == 3 * 64


def test_a_program_without_the_source_writes_nothing(tmp_path: Path) -> None:
    variables = {name: value for name, value in os.environ.items() if name != "MLPERF_MARKS"}
    subprocess.run([sys.executable, "-c", PROGRAM], env=variables, check=True, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []
