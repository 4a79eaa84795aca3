"""A report of Nsight Systems, turned into tables by an nsys of our own making."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from made_tools import make_tool

from mlperf.traces.events.kinds import Kind
from mlperf.traces.sources.nsight import BASE, REPORT, Nsight
from mlperf.traces.sources.source import ABSENT, OK


def test_a_report_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Nsight().probe().status == ABSENT
    ready = tmp_path / "ready.sqlite"
    with sqlite3.connect(ready) as base:
        base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, globalPid INTEGER)")
        base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 5, 0, NULL), (6, 7, 0, 7 << 24)")
        base.execute("CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER)")
        base.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000)")
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
    assert found.kind.tolist() == [Kind.KERNEL] * 2
    assert found.origin_ns + found.start_ns[0] == 1_700_000_000_000_000_001
    # Whose rank a process is, other sources tell.
    assert (found.rank.tolist(), found.pid.tolist()) == ([0, -1], [-1, 7])
    with sqlite3.connect(out / BASE) as base:
        base.execute("DROP TABLE TARGET_INFO_SESSION_START_TIME")
    nowhere = source.read(out).events
    assert nowhere is not None
    assert len(nowhere) == 0
    assert "its 2 activities are left out" in nowhere.notes[0]
