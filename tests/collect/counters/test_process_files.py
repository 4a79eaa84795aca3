"""Numbers of /proc, from files with known content and from this process."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from mlperf.collect.counters import machine_files
from mlperf.collect.counters.machine_files import cpu_counters, machine_counters, pressure_counters, vmstat_counters
from mlperf.collect.counters.process_files import process_counters, stat_counters

TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")


def test_a_program_whose_name_holds_parentheses_and_blanks(tmp_path: Path) -> None:
    """Manual page proc(5): field 10 minflt, 11 cminflt, 12 majflt, 13 cmajflt, 14 utime, 15 stime, 16 cutime, 17 cstime."""
    fields = [str(number) for number in range(4, 53)]
    (tmp_path / "stat").write_text(f"42 (a) R (b c) S {' '.join(fields)}\n", encoding="ascii")
    found = stat_counters(tmp_path)
    assert found["proc_minor_faults"] == 10 + 11
    assert found["proc_major_faults"] == 12 + 13
    assert found["proc_user_s"] == pytest.approx((14 + 16) * TICK_S)
    assert found["proc_system_s"] == pytest.approx((15 + 17) * TICK_S)
    assert found["proc_block_wait_s"] == pytest.approx(42 * TICK_S)


def test_an_unreadable_file_leaves_its_counters_out(tmp_path: Path) -> None:
    (tmp_path / "io").write_text("rchar: 7\nsyscr: 2\n", encoding="ascii")
    assert process_counters(tmp_path) == {"proc_read_chars_bytes": 7.0, "proc_read_calls": 2.0}


def test_faults_and_switches_are_those_of_getrusage() -> None:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    found = stat_counters(Path("/proc/self"))
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert found["proc_minor_faults"] == pytest.approx(usage.ru_minflt + children.ru_minflt, rel=0.05, abs=200)


def test_the_machines_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_files, "PROC", tmp_path)
    (tmp_path / "stat").write_text("cpu  100 20 30 400 5 6 7 8 0 0\ncpu0 1 2 3\nctxt 99\nprocesses 5\n", encoding="ascii")
    (tmp_path / "vmstat").write_text("pgfault 12\npgpgin 3\n", encoding="ascii")
    (tmp_path / "pressure").mkdir()
    (tmp_path / "pressure" / "cpu").write_text(
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n", encoding="ascii"
    )
    cpu = cpu_counters()
    assert cpu["machine_user_s"] == pytest.approx(120 * TICK_S)
    assert cpu["machine_interrupt_s"] == pytest.approx(13 * TICK_S)
    assert cpu["machine_steal_s"] == pytest.approx(8 * TICK_S)
    assert cpu["machine_switches"] == 99
    assert vmstat_counters() == {"machine_page_faults": 12.0, "machine_page_in_bytes": 3072.0}
    assert pressure_counters() == {"machine_cpu_pressure_s": 2.5}
    (tmp_path / "stat").unlink()
    assert "machine_user_s" not in machine_counters()
