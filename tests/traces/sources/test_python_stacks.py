"""Stacks of a real Python program: waiting told from running, collections, children, its own sitecustomize."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.sources.python_stacks import PythonStacks

pytestmark = pytest.mark.slow

PROGRAM = """
import gc, os, threading, time
def waits():
    lock.acquire()
def computes():
    until = time.process_time() + 0.4
    while time.process_time() < until:
        pass
kept = [{"a": number} for number in range(300_000)]
lock = threading.Lock(); lock.acquire()
threading.Thread(target=waits, name="patient", daemon=True).start()
computes()
gc.collect()
child = os.fork()
if not child:
    computes()
    os._exit(0)
os.waitpid(child, 0)
"""


def recorded(tmp_path: Path, program: str = PROGRAM, *words: str, path: str = "") -> EventTable:
    source, out = PythonStacks(), tmp_path / "out"
    out.mkdir()
    variables = {**os.environ, "PYTHONPATH": path}
    for name, value in source.prepare(out).items():
        variables[name] = value + (os.pathsep + path if name == "PYTHONPATH" and path else "")
    file = tmp_path / "program.py"
    file.write_text(program)
    subprocess.run([sys.executable, *words, str(file)], env=variables, check=True)
    found = source.read(out).events
    assert found is not None
    return found


def test_where_threads_stand_and_whether_they_run(tmp_path: Path) -> None:
    found = recorded(tmp_path)
    names = np.array(found.text(found.name))
    running = names == "computes (program.py:5)"
    waiting = names == "waits (program.py:3)"
    assert running.any()
    assert waiting.any()
    # Who computes waits for a core at times, on a machine that others use for most of it.
    told_waiting, told_running = ((found.flags[each] & int(Flag.WAITING) > 0).mean() for each in (waiting, running))
    assert told_waiting > 0.8
    assert told_running < min(told_waiting, 0.97)
    assert found.attributes["lines"][f"{tmp_path / 'program.py'}:4"] == "lock.acquire()"
    assert set(found.tag[waiting].tolist()) == {4}
    assert "patient" in found.attributes["threads"].values()
    stacks = found.text(found.site[running])
    assert stacks[0] == "<module> (program.py:1);computes (program.py:5)"
    # A stack stands for the time since the one before.
    main = found.weight_ns[running & (found.pid == found.pid[0])].sum()
    assert 0.2e9 < main < 10e9


def test_collections_are_regions(tmp_path: Path) -> None:
    found = recorded(tmp_path)
    rows = (found.kind == Kind.REGION) & (np.array(found.text(found.name)) == "gc")
    assert rows.any()
    assert found.duration_ns[rows].max() > 100_000


def test_a_forked_child_is_recorded_apart(tmp_path: Path) -> None:
    found = recorded(tmp_path)
    assert len(np.unique(found.pid)) == 2


def test_a_programs_own_sitecustomize_still_runs(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').write('yes')\n")
    recorded(tmp_path, "pass", path=str(own))
    assert (tmp_path / "ran").read_text() == "yes"


def test_an_isolated_program_records_none(tmp_path: Path) -> None:
    assert len(recorded(tmp_path, "pass", "-I")) == 0
