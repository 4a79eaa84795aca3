"""Where clock cycles come from: a hardware counter, else the core's clock as a chain of one-cycle instructions shows it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

COUNTER = "hardware counter: user-mode cycles of each visit (perf_event_open)"
CHAIN = "time x frequency; frequency from a timed chain of dependent one-cycle instructions, median over rounds"
UNKNOWN = "unknown: neither a hardware counter nor a timed chain on this processor"


def clock_facts(chain_hz: Sequence[float], cycles_per_s: float) -> Mapping[str, Any]:
    """What host.json says of the clock.

    Parameters
    ----------
    chain_hz : sequence of float
        Frequencies by the chain, one a round; zeros where it does not know this processor.
    cycles_per_s : float
        Counted cycles over CPU seconds, median over visits; 0 without a counter.
    """
    chain = statistics.median(chain_hz) if chain_hz else 0.0
    source, frequency = (COUNTER, cycles_per_s) if cycles_per_s else (CHAIN, chain) if chain else (UNKNOWN, 0.0)
    return {"source": source, "frequency_hz": frequency, "chain_frequency_hz": chain, "chain_rounds_hz": list(chain_hz)}
