"""What counts as the performance of a stream: the rate of one of its counters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlperf.core.errors import DataError
from mlperf.core.suggest import did_you_mean

LEAST_UNITS_A_SAMPLE = 0.25
"""A sample in which no unit was finished counts as this many: its logarithm must be finite."""
N_DECIDING = 4
"""Samples after which the performance of a live stream is settled."""


@dataclass(frozen=True, slots=True)
class Performance:
    """One way to say how fast a program runs.

    Attributes
    ----------
    column : str
        Counter whose rate it is.
    unit : str
        Of the rate.
    scale : float
        What one count is in the unit's numerator.
    least_a_sample : float
        Counts of a sample in which nothing was counted.
    doc : str
        What it says, and what it does not.
    """

    column: str
    unit: str
    scale: float
    least_a_sample: float
    doc: str


PERFORMANCE: Mapping[str, Performance] = {
    "progress": Performance(
        "units", "units/s", 1.0, LEAST_UNITS_A_SAMPLE, "units of work a second, as the program itself reports them"
    ),
    "instructions": Performance(
        "instructions", "instructions/s", 1.0, 1e6, "instructions a second in user mode, counted by the processor"
    ),
    "cpu": Performance(
        "cpu_ns", "CPU s/s", 1e-9, 1e6, "processor seconds a second: how much of the machine it gets, not how much work it does"
    ),
    "io": Performance("io_bytes", "bytes/s", 1.0, 1024.0, "bytes read and written a second"),
}
"""The best witness first."""


def performance_named(name: str, columns: Sequence[str], place: str) -> Performance:
    """The performance by its name or its column.

    Raises
    ------
    DataError
        The stream has no such column.
    """
    by_column = {each.column: each for each in PERFORMANCE.values()}
    found = PERFORMANCE.get(name) or by_column.get(name) or Performance(name, f"{name}/s", 1.0, LEAST_UNITS_A_SAMPLE, "a counter")
    if found.column not in columns:
        raise DataError(
            f"no column {found.column!r}, expected one whose rate is the performance. {did_you_mean(found.column, columns)}",
            place=place,
            hint="Name another with --performance.",
        )
    return found


def choose_performance(first: Mapping[str, Sequence[float]]) -> Performance | None:
    """The best witness among counters that move in the first samples.

    Parameters
    ----------
    first : mapping
        Column to its values in the first ``N_DECIDING`` samples, in order.

    Returns
    -------
    Performance or None
        Progress where some was reported, else the first other witness that is there; None where there is none.
    """
    progress = first.get(PERFORMANCE["progress"].column, ())
    if len(progress) and progress[-1] > 0:
        return PERFORMANCE["progress"]
    others = [each for name, each in PERFORMANCE.items() if name != "progress" and each.column in first]
    return others[0] if others else None
