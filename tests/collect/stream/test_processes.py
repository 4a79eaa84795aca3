"""Samples of real process trees against what the system says by other means."""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import pytest

from mlperf.collect.stream.processes import ProcessTree, descends

BURN = "import time\nend = time.process_time() + {seconds}\nwhile time.process_time() < end: pass\n"


def burn(seconds: float) -> list[str]:
    return [sys.executable, "-S", "-c", BURN.format(seconds=seconds)]


def test_a_tree_counts_the_processor_time_of_children_that_ended() -> None:
    """Against getrusage of the waited-for children: two of a shell's, one after the other."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = f"import subprocess, sys\nfor _ in range(2): subprocess.run({burn(0.15)!r})\n"
    process = subprocess.Popen([sys.executable, "-S", "-c", code])
    tree = ProcessTree(process.pid)
    found = [tree.sample()]
    most = 0.0
    while process.poll() is None:
        found.append(tree.sample())
        most = max(most, found[-1]["w_processes"])
        time.sleep(0.02)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert most >= 2
    for name in ("cpu_ns", "w_utime", "w_minflt", "w_run_ns"):
        values = [each[name] for each in found if name in each]
        assert values == sorted(values), f"{name} fell"
    assert found[-1]["cpu_ns"] * 1e-9 == pytest.approx(used_s, abs=0.1)


def test_descendants_are_found_through_any_number_of_parents() -> None:
    parents = {10: 1, 11: 10, 12: 11, 20: 1, 30: 31, 31: 30}
    assert [pid for pid in parents if descends(pid, parents, {10})] == [10, 11, 12]
