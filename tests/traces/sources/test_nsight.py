"""A report of Nsight Systems, turned into tables by an nsys of our own making."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from made_tools import make_tool

from mlperf.traces.events.kinds import Kind
from mlperf.traces.sources.nsight import REPORT, Nsight
from mlperf.traces.sources.source import ABSENT, OK


def test_a_report_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Nsight().probe().status == ABSENT
    ready = tmp_path / "ready.sqlite"
    with sqlite3.connect(ready) as base:
        base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER)")
        base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 5, 0)")
    make_tool(tmp_path / "bin", monkeypatch, "nsys", f"import shutil; shutil.copy({str(ready)!r}, words[words.index('-o') + 1])")
    source, out = Nsight(), tmp_path / "out"
    out.mkdir()
    assert source.probe().status == OK
    assert source.prepare(out) == {"MLPERF_NSYS_REPORT": str(out / "report")}
    source.follow(1)
    assert source.stop() == 0.0
    assert source.read(out).events is None
    (out / REPORT).write_text("report")
    source.stop()
    found = source.read(out).events
    assert found is not None
    assert found.kind.tolist() == [Kind.KERNEL]
