"""Where clock cycles come from is said, and two ways of telling the clock agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.collect.contraction.record import CHAIN, COUNTER, UNKNOWN, clock_facts
from mlperf.datasets import read_contractions

pytestmark = pytest.mark.slow


def test_the_source_of_cycles() -> None:
    assert clock_facts([3.9e9, 3.8e9, 3.7e9], 3.5e9)["source"] == COUNTER
    assert clock_facts([3.9e9, 3.8e9, 3.7e9], 0.0) == {
        "source": CHAIN,
        "frequency_hz": 3.8e9,
        "chain_frequency_hz": 3.8e9,
        "chain_rounds_hz": [3.9e9, 3.8e9, 3.7e9],
    }
    assert clock_facts([0.0], 0.0)["source"] == UNKNOWN


def test_counter_and_chain_agree(sweep: Path) -> None:
    """A chain of n one-cycle instructions takes n cycles: wrong by a factor where a latency was assumed wrong."""
    clock = read_contractions(sweep).host["clock"]
    assert 0.5e9 < clock["chain_frequency_hz"] < 8e9
    if clock["source"] == COUNTER:
        assert clock["frequency_hz"] == pytest.approx(clock["chain_frequency_hz"], rel=0.5)
