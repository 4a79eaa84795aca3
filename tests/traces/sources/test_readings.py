"""vmstat and mpstat of our own making, printing what the real ones did."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from made_tools import make_tool

from mlperf.traces.sources.readings import TEXT, Mpstat, Vmstat
from mlperf.traces.sources.source import ABSENT, OK

FIXTURES = Path(__file__).parents[1] / "readers" / "system" / "fixtures"


@pytest.mark.parametrize(("kind", "file"), [(Vmstat, "vmstat.txt"), (Mpstat, "mpstat.txt")])
def test_lines_are_kept(kind: type, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = f"sys.stdout.write(pathlib.Path({str(FIXTURES / file)!r}).read_text()); sys.stdout.flush(); time.sleep(60)"
    make_tool(tmp_path / "bin", monkeypatch, kind.name, code)
    source = kind()
    assert source.probe().status == OK
    source.prepare(tmp_path)
    source.follow(1)
    until = time.monotonic() + 30
    while not (tmp_path / TEXT).stat().st_size and time.monotonic() < until:
        time.sleep(0.01)
    source.stop()
    found = source.read(tmp_path).counters
    assert found is not None
    assert "cpu.idle" in {each.name for each in found.about}
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    assert kind().probe().status == ABSENT
    assert kind().read(tmp_path / "none").counters is None
