"""What the machine is, without its name, and what copies say of its memory."""

from __future__ import annotations

import os
import platform

from mlperf.traces.whole_run.host import host_facts, memory_peaks


def test_facts_name_the_processor_and_not_the_machine() -> None:
    found = host_facts()
    assert found["n_cores"] == len(os.sched_getaffinity(0))
    assert found["architecture"] == platform.machine()
    assert platform.node() not in found.values()


def test_copies_move_a_plausible_number_of_bytes() -> None:
    found = memory_peaks(2)
    assert 1e8 < found["memory_one_core_bytes_per_s"] <= found["memory_bytes_per_s"] < 1e13
