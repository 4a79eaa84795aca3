"""``mlperf record steps`` on a trace file in the place of a recording, and where it has no steps."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_recordings import MS, Made

from mlperf.cli.main import main
from mlperf.traces.writers.store import write_store


def run(*arguments: str | Path) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as left:
        main(["record", "steps", *map(str, arguments)])
    return int(left.value.code or 0)


def test_a_trace_will_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    maker, at = Made(), 0
    for _ in range(9):
        at = maker.marks(at, {"load": 40 * MS, "forward": 60 * MS})
    write_store(maker.recording().events, tmp_path / "run.npz")
    assert run(tmp_path / "run.npz") == 0
    assert "100 ms" in capsys.readouterr().out


def test_without_steps_it_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    maker = Made()
    maker.samples(0, 50 * MS, "main")
    write_store(maker.recording().events, tmp_path / "run.npz")
    assert run(tmp_path / "run.npz") == 3
    told = capsys.readouterr().err
    assert "no steps found" in told
    assert "region('step')" in told
