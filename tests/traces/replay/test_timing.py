"""Costs in ticks are rounded once, and gaps only count where they are asked for."""

from __future__ import annotations

import numpy as np
from message_programs import BYTE, LATENCY, OVERHEAD, protocol_timing

from mlperf.traces.replay.timing import network


def test_costs_are_the_presets_in_whole_nanoseconds() -> None:
    size = np.array([1, 1000, 1001])
    costs = network(protocol_timing(gaps=True), size)
    assert costs.eager.tolist() == [True, True, False]
    assert costs.send_ns.tolist() == [OVERHEAD, OVERHEAD, 5 * OVERHEAD + 2 * LATENCY + 1000 * BYTE]
    assert costs.off_ns.tolist() == [OVERHEAD + LATENCY, OVERHEAD + LATENCY + 999 * BYTE, OVERHEAD + LATENCY]
    assert costs.gap_ns.tolist() == [0, 999 * BYTE, 1000 * BYTE]
    assert costs.overhead_ns == OVERHEAD
    assert network(protocol_timing(), size).gap_ns.tolist() == [0, 0, 0]


def test_a_finer_unit_gives_more_digits() -> None:
    costs = network(protocol_timing(ticks_per_s=1e12), np.array([7]))
    assert costs.off_ns.tolist() == [(OVERHEAD + LATENCY + 6 * BYTE) * 1000]
