"""Files of the kernel: our own process, a made one, and none."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from mlperf.core import proc
from mlperf.core.proc import numbers_of, processor_facts, stat_words, tasks_of, text_of, words_of


def test_what_is_not_there_is_empty(tmp_path: Path) -> None:
    assert text_of(tmp_path / "gone") == ""
    assert words_of(tmp_path) == {}
    assert numbers_of(tmp_path / "gone", {"a": "a"}) == {}
    assert stat_words(tmp_path) == []
    assert tasks_of(tmp_path / "gone") == []


def test_lines_are_known_by_their_first_word(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"cpu 1 2\n\nName:\ta \xff b\nVmHWM:\t 12 kB\n")
    assert words_of(tmp_path / "file") == {"cpu": ["1", "2"], "Name": ["a", "\ufffd", "b"], "VmHWM": ["12", "kB"]}
    assert numbers_of(tmp_path / "file", {"peak": "VmHWM", "none": "VmRSS"}) == {"peak": 12.0}


def test_a_name_may_hold_blanks_and_parentheses(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("7 (a) b (c)) R 1 2 3\n")
    assert stat_words(tmp_path) == ["R", "1", "2", "3"]
    assert int(stat_words(Path("/proc/self"))[1]) == os.getppid()


def test_facts_are_those_of_the_first_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpuinfo").write_text("processor : 0\nmodel name : One: two\n\nprocessor : 1\nmodel name : other\n")
    monkeypatch.setattr(proc, "CPUINFO", tmp_path / "cpuinfo")
    assert {name: fact for name, fact in processor_facts().items() if name} == {"processor": "0", "model name": "One: two"}
    monkeypatch.setattr(proc, "CPUINFO", tmp_path / "none")
    assert processor_facts() == {}


def test_threads_of_a_process() -> None:
    assert Path(f"/proc/self/task/{threading.get_native_id()}") in tasks_of(Path("/proc/self"))
