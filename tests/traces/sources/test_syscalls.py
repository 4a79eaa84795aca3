"""strace of our own making, and whether it may attach."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from made_tools import make_tool

from mlperf.traces.sources import syscalls
from mlperf.traces.sources.source import ABSENT, DEGRADED
from mlperf.traces.sources.syscalls import SystemCalls, tracer_of

CODE = """
pathlib.Path(words[words.index("-o") + 1]).write_text("5 1.000000 getpid() = 5 <0.000001>\\n")
"""


def test_calls_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_tool(tmp_path / "bin", monkeypatch, "strace", CODE)
    source = SystemCalls()
    source.prepare(tmp_path)
    source.follow(os.getpid())
    source.stop()
    found = source.read(tmp_path).events
    assert found is not None
    assert found.text(found.name) == ["getpid"]


def test_it_must_be_there_and_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert SystemCalls().probe().status == ABSENT
    assert SystemCalls().read(tmp_path).events is None
    make_tool(tmp_path / "bin", monkeypatch, "strace", "")
    scope = tmp_path / "scope"
    monkeypatch.setattr(syscalls, "SCOPE", scope)
    assert SystemCalls().probe().status == DEGRADED
    scope.write_text("1\n")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "ptrace_scope is 1" in SystemCalls().probe().reason


def test_nobody_traces_us() -> None:
    assert tracer_of(2**22 + 1) == 0
    assert tracer_of(os.getpid()) >= 0
