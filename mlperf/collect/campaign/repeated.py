"""One memory operation timed: repeated until a visit is long enough, and the row of the table that results."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping

from mlperf.collect.cnn_engine.timers import Timing
from mlperf.collect.protocol.protocol import Rows

LEARNING_RATE = 0.01
VISIT_S = 0.005
MOST_REPEATS = 20


def vector_row(name: str, n_params: int, times: Mapping[str, float]) -> Rows:
    """One row of the table."""
    return {"updates": [{"operation": name, "n_params": n_params, "subbatch_size": 0, "input_size": 0, **times}]}


def repeated(operation: Callable[[], object], clock: Callable[[Callable[[], object]], Timing]) -> dict[str, float]:
    """Median time of one call, after one unmeasured; short calls are repeated."""
    operation()
    times: list[Timing] = []
    while sum(taken.cpu_s for taken in times) < VISIT_S and len(times) < MOST_REPEATS:
        times.append(clock(operation))
    return {
        "cpu_s": statistics.median(taken.cpu_s for taken in times),
        "wall_s": statistics.median(taken.wall_s for taken in times),
    }
