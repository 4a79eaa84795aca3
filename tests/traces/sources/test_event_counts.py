"""Counters as a source, on a machine with a perf of our own making."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mlperf.traces.sources.event_counts import EventCounts
from mlperf.traces.sources.source import ABSENT, DEGRADED, OK

PERF = """#!{python}
import pathlib, signal, sys, time
words = sys.argv[1:]
pathlib.Path({said!r}).open("a").write(" ".join(words) + chr(10))
if words[0] == "stat":
    for event in words[words.index("-e") + 1].split(","):
        there = event.split(":")[0] in {there!r}
        for kind in {kinds!r}:
            print(("12," if there else "<not supported>,") + "," + kind.format(event) + ",1,100.00,,", file=sys.stderr)
elif words[0] == "script":
    now = time.monotonic_ns()
    print(f"  7/7  {{now // 10**9}}.{{now % 10**9 // 1000:06d}}:   64 page_faults: ")
else:
    signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
    pathlib.Path(words[words.index("-o") + 1]).write_text("data")
    time.sleep(60)
"""
ALL = ("instructions", "cache-misses", "branch-misses", "page-faults")


@pytest.fixture
def make_perf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def make(*there: str, kinds: tuple[str, ...] = ("{}",)) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        said = tmp_path / "said.txt"
        (folder / "perf").write_text(PERF.format(python=sys.executable, said=str(said), there=there, kinds=kinds))
        (folder / "perf").chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        return said

    return make


def test_a_run_is_counted_and_turned_into_rates(tmp_path: Path, make_perf) -> None:
    said = make_perf("page-faults", "cache-misses")
    source, out = EventCounts(), tmp_path / "out"
    out.mkdir()
    assert source.prepare(out) == {}
    source.follow(4711)
    assert source.stop() > 0
    found = source.read(out).counters
    assert found is not None
    assert sorted(each.name for each in found.about) == ["run.cache_misses", "run.page_faults"]
    times, rates = found.of(found.numbers("run.page_faults")[0])
    assert (rates[1:] * (times[1:] - times[:-1])).sum() * 1e-9 == pytest.approx(64)
    (record,) = (line for line in said.read_text().splitlines() if line.startswith("record"))
    assert "-k CLOCK_MONOTONIC -e cache-misses/freq=199,name=cache_misses/u -e page-faults/period=64,name=page_faults/u" in record
    assert record.endswith("-p 4711")


def test_it_is_probed(make_perf, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_perf(*ALL)
    assert EventCounts().probe().status == OK
    make_perf("page-faults")
    found = EventCounts().probe()
    assert found.status == DEGRADED
    assert "does not count instructions, cache-misses, branch-misses" in found.reason
    make_perf()
    assert EventCounts().probe().status == ABSENT
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert EventCounts().probe().status == ABSENT


def test_events_of_two_kinds_of_cores_are_there(make_perf) -> None:
    make_perf(*ALL, kinds=("cpu_atom/{}/", "cpu_core/{}/"))
    assert EventCounts().probe().status == OK


def test_nothing_recorded_is_nothing_read(tmp_path: Path) -> None:
    assert EventCounts().read(tmp_path).counters is None
