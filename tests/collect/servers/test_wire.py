"""Messages through MPI's own loop to the same rank, and how long a wait is slept."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from mlperf.collect.servers.wire import Link, opened, pause_s

SCRIPT = """
import numpy as np, time
from mpi4py import MPI
from mlperf.collect.servers.wire import Wire
wire = Wire(MPI.COMM_SELF, 5.0)
before = time.perf_counter()
wire.send(np.arange(5, dtype=np.float32), 0, 12, version=7)
assert wire.find(13, 5) is None
message = wire.receive(0, 12, 5)
assert message.values.tolist() == [0, 1, 2, 3, 4] and (message.version, message.sender) == (7, 0)
assert before < message.sent_s < time.perf_counter()
wire.send(np.ones(3, dtype=np.float32), 0, 13, sent_s=4.5)
found = None
while found is None:
    found = wire.find(13, 5)
assert found.sent_s == 4.5 and len(found.values) == 3
wire.flush()
wire.meet()
print("all came")
"""


def test_a_message_keeps_its_values_version_and_moment() -> None:
    pytest.importorskip("mpi4py")
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "all came\n", done.stderr


def test_header_and_values_are_told_apart() -> None:
    buffer = np.concatenate([np.array([2.5, 3, 4]).view(np.uint8), np.array([1, 2], dtype=np.float32).view(np.uint8)])
    message = opened(buffer)
    assert (message.sent_s, message.version, message.sender, message.values.tolist()) == (2.5, 3, 4, [1.0, 2.0])


def test_pauses_grow_with_the_wait_and_end_at_a_millisecond() -> None:
    assert pause_s(0.0) == pytest.approx(60e-6)
    assert pause_s(0.1) == pytest.approx(0.5e-3)
    assert pause_s(100.0) == pytest.approx(1e-3)
    assert Link(2.0, 0.5, 0.0).latency_of(3) == 3.0
