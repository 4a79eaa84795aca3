"""Sources that programs write themselves, and a program of our own making that writes one file."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from made_tools import make_tool

from mlperf.traces.events.counters import CounterTable, Series, counter_table
from mlperf.traces.events.table import EventTable, event_table
from mlperf.traces.sources.bases import ByProgram, OneProgram
from mlperf.traces.sources.registry import make_source


def rows(path: Path) -> EventTable:
    return event_table(len(path.read_text()))


def series(path: Path) -> CounterTable:
    return counter_table([(Series("a", "1"), [0], [float(path.read_text())])])


class Events(OneProgram):
    file, reader = "found.txt", staticmethod(rows)


class Readings(OneProgram):
    file, reader = "found.txt", staticmethod(series)


@pytest.mark.parametrize("name", ["marks", "python", "mpi", "torch"])
def test_nothing_is_started_beside_programs_that_write_themselves(name: str) -> None:
    source = make_source(name)
    assert isinstance(source, ByProgram)
    before = threading.active_count()
    source.follow(1)
    assert threading.active_count() == before
    assert source.stop() == 0.0


def test_what_it_wrote_is_read_as_what_it_is(tmp_path: Path) -> None:
    assert Events().read(tmp_path).events is None
    (tmp_path / "found.txt").touch()
    assert Readings().read(tmp_path).counters is None
    (tmp_path / "found.txt").write_text("42")
    events, counters = Events().read(tmp_path).events, Readings().read(tmp_path).counters
    assert events is not None
    assert len(events) == 2
    assert counters is not None
    assert np.array_equal(counters.value, [42.0])


def test_it_is_ended_and_what_it_took_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_tool(tmp_path / "bin", monkeypatch, "looker", "pathlib.Path(words[0]).write_text('1'); time.sleep(60)")
    source = Events()
    assert source.prepare(tmp_path) == {}
    source.child.start(["looker", str(tmp_path / "found.txt")], source.folder, ready=tmp_path / "found.txt")
    begun = time.monotonic()
    assert 0.0 < source.stop() < os.times().children_user + 60
    assert time.monotonic() - begun < 30
    assert source.child.failure == ""
