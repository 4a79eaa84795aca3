"""tcpdump of our own making, and the right to capture."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from made_tools import make_tool

from mlperf.traces.sources import packets
from mlperf.traces.sources.packets import Packets
from mlperf.traces.sources.source import ABSENT, OK

FIXTURE = Path(__file__).parents[1] / "readers" / "system" / "fixtures" / "cooked2.pcap"


def test_packets_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = f"import shutil; shutil.copy({str(FIXTURE)!r}, words[words.index('-w') + 1]); time.sleep(60)"
    make_tool(tmp_path / "bin", monkeypatch, "tcpdump", code)
    source = Packets()
    source.prepare(tmp_path)
    source.follow(1)
    source.stop()
    found = source.read(tmp_path).events
    assert found is not None
    assert len(found) == 12


def test_it_must_be_there_and_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Packets().probe().status == ABSENT
    assert Packets().read(tmp_path).events is None
    make_tool(tmp_path / "bin", monkeypatch, "tcpdump", "")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(packets, "status_word", lambda *_: "0")
    found = Packets().probe()
    assert found.status == ABSENT
    assert "not allowed" in found.reason
    monkeypatch.setattr(packets, "status_word", lambda *_: f"{1 << 13:016x}")
    assert Packets().probe().status == OK
