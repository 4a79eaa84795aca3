"""Files of /proc as Linux documents them (proc(5)), and rates between two looks at them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from mlperf.traces.events.counters import Series
from mlperf.traces.sources.machine import Machine, Rates, disk_bytes, network_bytes, processor_seconds
from mlperf.traces.sources.source import ABSENT, DEGRADED, OK

TICK = os.sysconf("SC_CLK_TCK")
STAT = "cpu  {user} 200 300 4000 50 6 7 8 0 0\ncpu0 100 200 300 4000 50 6 7 8 0 0\nintr {intr} 0 0\nctxt 900\nbtime 1\n"
NET = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 1000       5    0    0    0     0          0         0     2000       5    0    0    0     0       0          0
"""
DISK = """ 254       0 vda 10 0 800 5 20 0 1600 9 0 0 0
   7       0 loop0 10 0 800 5 20 0 1600 9 0 0 0
 254      16 vdb 0 0 0 0 0 0 0 0 0 0 0
"""
MEMINFO = "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    600 kB\n"


def write_proc(folder: Path, user: int = 100, intr: int = 5) -> Path:
    (folder / "net").mkdir(exist_ok=True, parents=True)
    (folder / "pressure").mkdir(exist_ok=True)
    (folder / "stat").write_text(STAT.format(user=user, intr=intr))
    (folder / "net" / "dev").write_text(NET)
    (folder / "diskstats").write_text(DISK)
    (folder / "meminfo").write_text(MEMINFO)
    (folder / "vmstat").write_text("nr_free_pages 1\npswpin 2\npswpout 3\n")
    (folder / "pressure" / "cpu").write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=4000000\nfull avg10=0 total=1\n")
    return folder


def test_processor_seconds_by_mode() -> None:
    found = dict(processor_seconds(STAT.format(user=100, intr=5)))
    assert found[Series("cpu.user", "cores")] == 300 / TICK
    assert found[Series("cpu.iowait", "cores", "cpu0")] == 50 / TICK
    assert found[Series("system.switches", "1/s")] == 900
    assert found[Series("system.interrupts", "1/s")] == 5
    assert Series("cpu.nice", "cores") not in found


def test_bytes_of_disks_and_networks() -> None:
    assert dict(disk_bytes(DISK)) == {
        Series("disk.read", "bytes/s", "vda"): 800 * 512,
        Series("disk.written", "bytes/s", "vda"): 1600 * 512,
    }
    assert dict(network_bytes(NET)) == {Series("net.received", "bytes/s", "lo"): 1000, Series("net.sent", "bytes/s", "lo"): 2000}


def test_a_rate_is_what_changed_over_the_time_between(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 12.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    rates = Rates(write_proc(tmp_path))
    first = rates.read()
    assert first[Series("cpu.user", "cores")] == 0.0
    assert first[Series("memory.used", "bytes")] == 400 * 1024
    write_proc(tmp_path, user=100 + 3 * TICK, intr=25)
    second = rates.read()
    assert second[Series("cpu.user", "cores")] == pytest.approx(1.5)
    assert second[Series("system.interrupts", "1/s")] == pytest.approx(10.0)
    assert second[Series("swap.in", "bytes/s")] == 0.0
    assert second[Series("pressure.cpu", "share")] == 0.0


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    assert Machine(tmp_path).probe().status == ABSENT
    proc = write_proc(tmp_path / "proc")
    assert Machine(proc).probe().status == OK
    (proc / "pressure" / "cpu").unlink()
    assert Machine(proc).probe().status == DEGRADED


def test_a_run_is_recorded(tmp_path: Path) -> None:
    source = Machine(write_proc(tmp_path / "proc"))
    (tmp_path / "out").mkdir()
    assert source.prepare(tmp_path / "out") == {}
    source.follow(1)
    source.stop()
    found = source.read(tmp_path / "out").counters
    assert found is not None
    assert {"cpu.user", "disk.read", "net.sent", "memory.used", "pressure.cpu", "swap.out"} <= {each.name for each in found.about}
    (tmp_path / "empty").mkdir()
    assert source.read(tmp_path / "empty").counters is None
