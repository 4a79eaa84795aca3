"""Samples of the whole machine."""

from __future__ import annotations

import pytest

from mlperf.collect.stream.sampler import Machine
from mlperf.core.errors import MissingExtraError


def test_the_machine_counts_what_the_kernel_counts() -> None:
    first, second = Machine().sample(), Machine().sample()
    assert second["ctxt"] >= first["ctxt"] > 0
    assert second["cpu_user"] + second["cpu_idle"] > 0
    assert {"intr", "processes", "procs_running", "pgfault", "load1", "MemFree"} <= first.keys()


def test_a_system_without_proc_is_named(tmp_path) -> None:
    with pytest.raises(MissingExtraError, match="stat"):
        Machine(tmp_path)
