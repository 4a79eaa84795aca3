"""What the machine is, without its name, and what copies say of its memory."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

from mlperf.core import proc
from mlperf.traces.whole_run.host import host_facts, memory_peaks


def test_facts_name_the_processor_and_not_the_machine() -> None:
    found = host_facts()
    assert found["n_cores"] == len(os.sched_getaffinity(0))
    assert found["architecture"] == platform.machine()
    assert platform.node() not in found.values()


def test_the_generation_is_in_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["processor : 0", "vendor_id : AuthenticAMD", "cpu family : 25", "model : 1", "model name : AMD EPYC 7763"]
    (tmp_path / "cpuinfo").write_text("\n".join([*lines, "stepping : 1", "flags : sse2 avx2"]))
    monkeypatch.setattr(proc, "CPUINFO", tmp_path / "cpuinfo")
    found = host_facts()
    assert [found[f"cpu_{name}"] for name in ("vendor", "family", "model", "stepping")] == ["AuthenticAMD", 25, 1, 1]
    assert found["processor"] == "AMD EPYC 7763"


def test_a_processor_without_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpuinfo").write_text("processor : 0\nFeatures : fp asimd\nmodel : unknown\n")
    monkeypatch.setattr(proc, "CPUINFO", tmp_path / "cpuinfo")
    found = host_facts()
    assert found["cpu_vendor"] == ""
    assert "cpu_model" not in found
    assert found["cpu_flags"] == "fp asimd"


def test_copies_move_a_plausible_number_of_bytes() -> None:
    found = memory_peaks(2)
    assert 1e8 < found["memory_one_core_bytes_per_s"] <= found["memory_bytes_per_s"] < 1e13
