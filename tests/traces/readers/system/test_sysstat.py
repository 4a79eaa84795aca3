"""vmstat (procps 4.0) and mpstat (sysstat 12.6) as they printed on a machine with two processors, and as their pages show them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.counters import Series
from mlperf.traces.readers.system.sysstat import read_mpstat, read_vmstat

FIXTURES = Path(__file__).parent / "fixtures"


def test_vmstat_as_printed() -> None:
    found = read_vmstat(FIXTURES / "vmstat.txt")
    lines = [line.split() for line in (FIXTURES / "vmstat.txt").read_text().splitlines()[2:]]
    # The first line is a mean since the start of the machine.
    assert found.time_ns[found.series == 0].tolist() == [0, 1_000_000_000]
    names = (FIXTURES / "vmstat.txt").read_text().splitlines()[1].split()
    idle = [float(line[names.index("id")]) / 100 for line in lines[1:]]
    assert found.of(found.about.index(Series("cpu.idle", "share")))[1].tolist() == pytest.approx(idle)
    free = [float(line[names.index("free")]) * 1024 for line in lines[1:]]
    assert found.of(found.about.index(Series("memory.free", "bytes")))[1].tolist() == free
    assert found.notes == ()


def test_vmstat_without_times_is_a_line_a_second(tmp_path: Path) -> None:
    path = tmp_path / "vmstat.txt"
    head = "procs ---\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    path.write_text(head + " 1  0      0 10 1 1 0 0 0 0 5 6 1 2 97 0 0\n" * 3)
    found = read_vmstat(path)
    assert np.unique(found.time_ns).tolist() == [0, 1_000_000_000]
    assert "a second apart" in found.notes[0]


@pytest.mark.parametrize("name", ["mpstat.txt", "mpstat.json"])
def test_mpstat_as_printed(name: str) -> None:
    found = read_mpstat(FIXTURES / name)
    assert {each.what for each in found.about} == {"", "cpu0", "cpu1"}
    assert np.unique(found.time_ns).tolist() == [0, 1_000_000_000]
    assert found.of(found.about.index(Series("cpu.idle", "share", "cpu1")))[1].max() <= 1.0
    total = sum(found.of(number)[1][0] for number, each in enumerate(found.about) if each.what == "")
    assert total == pytest.approx(1.0, abs=0.001)
    assert found.origin_ns // 86_400_000_000_000 == 20780  # 2026-11-23


def test_mpstat_after_midnight_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "mpstat.txt"
    rows = "".join(f"{time}  all 1,00 99.00\n" for time in ("11:59:59 PM", "12:00:00 AM"))
    path.write_text("Linux 6 (host) 2026-01-01 _x86_64_ (2 CPU)\n\n11:59:58 PM  CPU %usr %idle\n" + rows)
    found = read_mpstat(path)
    assert np.unique(found.time_ns).tolist() == [0, 1_000_000_000]
    assert found.value.min() == 0.01


def test_a_clock_that_is_set_back_is_no_midnight(tmp_path: Path) -> None:
    path = tmp_path / "mpstat.txt"
    rows = "".join(f"{time}  all 1.00 99.00\n" for time in ("12:00:05", "12:00:04", "12:00:05"))
    path.write_text("Linux 6 (host) 2026-01-01 _x86_64_ (2 CPU)\n\n12:00:04  CPU %usr %idle\n" + rows)
    assert np.unique(read_mpstat(path).time_ns).tolist() == [-1_000_000_000, 0]


def test_json_of_mpstat_goes_on_after_midnight_and_knows_am_and_pm(tmp_path: Path) -> None:
    path = tmp_path / "mpstat.json"
    load = [{"cpu": "-1", "usr": 1.0, "idle": 99.0}]
    for first, then in (("23:59:59", "00:00:00"), ("11:59:59 PM", "12:00:00 AM")):
        statistics = [{"timestamp": time, "cpu-load": load} for time in (first, then)]
        path.write_text(json.dumps({"sysstat": {"hosts": [{"date": "11/23/2026", "statistics": statistics}]}}))
        found = read_mpstat(path)
        assert np.unique(found.time_ns).tolist() == [0, 1_000_000_000]
        assert {each.what for each in found.about} == {""}
        assert found.origin_ns == (20781 * 86_400 - 1) * 1_000_000_000


def test_vmstat_may_name_its_zone(tmp_path: Path) -> None:
    path = tmp_path / "vmstat.txt"
    lines = "".join(f" 1 0 10 1 2 97 2013-05-10 14:34:{second} EDT\n" for second in ("13", "18", "23"))
    path.write_text("procs ---timestamp---\n r  b   free us sy id  EDT\n" + lines)
    found = read_vmstat(path)
    assert np.unique(found.time_ns).tolist() == [0, 5_000_000_000]
    assert found.notes == ()


@pytest.mark.parametrize(
    ("reader", "text", "place"),
    [
        (read_vmstat, "1 2 3\n", "line 1"),
        (read_vmstat, " r b free us sy id\n 1 2 3\n", "line 2"),
        (read_vmstat, " r b free us sy id\n 1 2 x 1 1 1\n 1 2 x 1 1 1\n", "column free"),
        (read_vmstat, "procs\n", "vmstat -t"),
        (read_mpstat, "what\n", "line 1"),
        (read_mpstat, "12:00:00 CPU %usr\n12:00:01 all\n", "line 2"),
        (read_mpstat, "12:00:00 CPU %usr\n12:00:01 all -1\n", "column user"),
        (read_mpstat, "{}", "mpstat -o JSON"),
        (read_mpstat, '{"sysstat": {"hosts": [{"date": "2026-01-01", "statistics": [{"timestamp": "noon"}]}]}}', "'noon'"),
        (read_mpstat, "\n", "no readings"),
    ],
)
def test_wrong_text_names_its_place(tmp_path: Path, reader, text: str, place: str) -> None:
    path = tmp_path / "file.txt"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        reader(path)
    assert place in str(caught.value)
