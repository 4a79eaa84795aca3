"""Presets against the printed table of their sources."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import UsageError
from mlperf.systems.loggps.costs import message_costs
from mlperf.systems.loggps.presets import PRESETS, find_preset

US = 1e-6
GIVEN = {"latency_s": 9.11 * US, "overhead_s": 2.15 * US, "gap_s_per_byte": 2e-9, "eager_limit_bytes": 16383}


def in_us(name: str, size: int, **given: float) -> tuple[bool, float, float, float]:
    preset = find_preset(name)
    costs = message_costs(preset, preset.parameters(**given), np.array([size]))
    return bool(costs.eager[0]), *(float(each[0]) / US for each in (costs.send, costs.recv, costs.off))


def test_table_5_of_perwiz() -> None:
    assert in_us("perwiz-myrinet", 1000) == pytest.approx((True, 4.03, 3.087, 13.14))
    assert in_us("perwiz-myrinet", 16384) == pytest.approx((False, 28.9 + 58.65472, 90.3 + 79.4624, 11.26))
    assert in_us("perwiz-ethernet", 127_999, latency_s=50e-6)[0]
    assert in_us("perwiz-ethernet", 128_000, latency_s=50e-6) == pytest.approx((False, 175 + 10995.2, 264 + 11520, 62.1))
    assert in_us("perwiz-ethernet", 1000, latency_s=50e-6) == pytest.approx((True, 12.1 + 90.1, 12.1 + 56.8, 12.1 + 90.1 + 50))


def test_the_protocol_explains_the_printed_constant() -> None:
    """5o + 2L is 28.97 us where the paper prints 28.9."""
    assert in_us("protocol", 16384, **{**GIVEN, "gap_s_per_byte": 0.0})[1:] == pytest.approx((28.97, 24.67, 11.26))


def test_other_tools() -> None:
    wire = 2e-3 * 19_999
    assert in_us("protocol", 20_000, **GIVEN)[1] == pytest.approx(28.97 + wire)
    assert in_us("llamp", 20_000, **GIVEN)[1:] == pytest.approx((4 * 2.15 + 3 * 9.11 + wire, 3 * 2.15 + 2 * 9.11 + wire, 9.11))
    assert in_us("loggopsim", 20_000, **GIVEN)[1:] == pytest.approx((11.26, 2.15 + wire, 11.26))
    assert in_us("smpi", 20_000, **GIVEN)[1:] == pytest.approx((9.11 + 2e-3 * 20_016, 9.11 + 2e-3 * 20_016, 0))


def test_who_is_eager_at_the_limit() -> None:
    assert {name: in_us(name, 16383, **GIVEN)[0] for name in ("protocol", "smpi")} == {"protocol": True, "smpi": False}


def test_alpha_is_stated() -> None:
    """How many L are inside the constants of a synchronous send and of its receive."""
    pairs = {name: (preset.sync_send, preset.sync_recv) for name, preset in PRESETS.items()}
    assert {name: tuple(cost.multiples.get("latency_s", (0, 0))[0] for cost in pair) for name, pair in pairs.items()} == {
        "perwiz-myrinet": (2, 2),
        "perwiz-ethernet": (0, 0),
        "protocol": (2, 2),
        "llamp": (3, 2),
        "loggopsim": (1, 0),
        "smpi": (1, 1),
    }


def test_what_a_source_does_not_give_is_asked_for() -> None:
    with pytest.raises(UsageError, match="needs latency_s"):
        find_preset("perwiz-ethernet").parameters()
    with pytest.raises(UsageError, match="has no gap_s_per_byte"):
        find_preset("perwiz-myrinet").parameters(gap_s_per_byte=1e-9)
    with pytest.raises(UsageError, match="protocol"):
        find_preset("protocoll")
