"""perf as a source, on a machine with a perf of our own making: what it is asked, and what of it is kept."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from mlperf.traces.sources import perf_samples
from mlperf.traces.sources.perf_samples import PerfSamples
from mlperf.traces.sources.source import ABSENT, DEGRADED, OK

pytestmark = pytest.mark.slow

PERF = """#!{python}
import pathlib, signal, sys, time
words = sys.argv[1:]
pathlib.Path({said!r}).open("a").write(" ".join(words) + chr(10))
if words[0] == "script":
    print("a 1/1 [000] 1.000000: 5000000 cpu-clock: ")
    print(chr(9) + "10 main+0x1 (/bin/a)")
    print()
elif words[0] == "report":
    print("#   PID    TID  cpu-clock")
    print("  1  1  6000000")
    print("  1  2  100000")
elif "-p" in words:
    out = pathlib.Path(words[words.index("-o") + 1])
    signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
    out.write_text("12.2,msec,task-clock,12200000,100.00,1.0,CPUs utilized" if words[0] == "stat" else "data")
    time.sleep(60)
sys.exit({code})
"""


@pytest.fixture
def make_perf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def make(code: int = 0) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        said = tmp_path / "said.txt"
        (folder / "perf").write_text(PERF.format(python=sys.executable, said=str(said), code=code))
        (folder / "perf").chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        return said

    return make


def test_a_run_is_sampled_and_turned_into_text(tmp_path: Path, make_perf) -> None:
    said = make_perf()
    source = PerfSamples()
    out = tmp_path / "out"
    out.mkdir()
    assert source.prepare(out) == {}
    source.follow(4711)
    assert source.stop() > 0
    found = source.read(out).events
    assert found is not None
    assert found.text(found.name) == ["main"]
    # Counts say 6.1 ms, the total twice that: the thread's own share of it.
    assert found.weight_ns.tolist() == [12_000_000]
    said_by_word = {line.split()[0]: line for line in said.read_text().splitlines()}
    assert list(said_by_word)[2:] == ["script", "report"]
    assert said_by_word["record"].startswith("record -q -g --stat -e cpu-clock -F 199 -k CLOCK_MONOTONIC")
    assert said_by_word["record"].endswith("-p 4711")
    assert said_by_word["stat"].endswith("-p 4711")
    assert said_by_word["script"].startswith("script -i")


def test_a_recording_without_counts_keeps_the_weights_of_its_samples(tmp_path: Path, make_perf) -> None:
    make_perf()
    (tmp_path / perf_samples.TEXT).write_text("a 1/1 [000] 1.000000: 5000000 cpu-clock: \n\t10 main+0x1 (/bin/a)\n\n")
    found = PerfSamples().read(tmp_path).events
    assert found is not None
    assert found.weight_ns.tolist() == [5_000_000]


def test_another_frequency(tmp_path: Path, make_perf) -> None:
    said = make_perf()
    source = PerfSamples()
    source.sample(997)
    source.prepare(tmp_path)
    source.follow(4711)
    source.stop()
    assert "-F 997 " in said.read_text()
    assert "997 times" in source.probe().reason


def test_samples_of_a_recorder_that_was_killed_become_text_when_they_are_read(tmp_path: Path, make_perf) -> None:
    make_perf()
    (tmp_path / perf_samples.DATA).write_text("data")
    found = PerfSamples().read(tmp_path).events
    assert found is not None
    assert found.weight_ns.tolist() == [6_000_000]


def test_the_probe_tries_it(make_perf, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_perf()
    monkeypatch.setattr(perf_samples, "PARANOID", tmp_path / "level")
    (tmp_path / "level").write_text("1\n")
    assert PerfSamples().probe().status == OK
    (tmp_path / "level").write_text("2\n")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = PerfSamples().probe()
    assert found.status == DEGRADED
    assert "perf_event_paranoid is 2" in found.reason
    make_perf(code=255)
    assert PerfSamples().probe().status == ABSENT


def test_no_perf_is_absent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = PerfSamples().probe()
    assert (found.status, found.reason) == (ABSENT, "there is no perf")
    assert PerfSamples().stop() == 0.0
    assert PerfSamples().read(tmp_path).events is None
