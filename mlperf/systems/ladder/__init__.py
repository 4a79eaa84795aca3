"""The accuracy ladder: what every method reaches on open measurements, beside the goal, by fixed protocols."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "climb": "mlperf.systems.ladder.climbing",
        "RUNGS": "mlperf.systems.ladder.registry",
        "rung_names": "mlperf.systems.ladder.registry",
        "Ladder": "mlperf.systems.ladder.result",
        "Score": "mlperf.systems.ladder.result",
        "Goal": "mlperf.systems.ladder.result",
        "write_ladder": "mlperf.systems.ladder.files",
        "check_ending": "mlperf.systems.ladder.files",
    },
)
