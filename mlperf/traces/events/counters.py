"""Series of numbers over time: utilisations, rates and sizes, one row a reading."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.traces.events.kinds import UNSET

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Series:
    """What one series counts.

    Attributes
    ----------
    name : str
        ``"cpu.user"``, ``"net.received"``: the source's group, a dot, the quantity.
    unit : str
        ``"cores"``, ``"bytes"``, ``"bytes/s"``, ``"1/s"``, ``"share"``.
    what : str
        Of which device, processor, interface or process; empty: of the whole machine.
    host, rank : int
        Where; -1 unset.
    """

    name: str
    unit: str
    what: str = ""
    host: int = UNSET
    rank: int = UNSET


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CounterTable:
    """Readings of several series on one clock.

    Attributes
    ----------
    time_ns : array of int64, shape (n_readings,)
        Nanoseconds since `origin_ns`. A rate holds from the series' reading before to this one.
    series : array of int32
        Number into `about`.
    value : array of float
        In the series' unit.
    about : tuple of Series
    origin_ns : int
        Time of 0 on the reference clock, as in `EventTable`.
    notes : tuple of str
        What a reader met and put right.
    """

    time_ns: IntArray
    series: NDArray[np.int32]
    value: FloatArray
    about: tuple[Series, ...] = ()
    origin_ns: int = 0
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Number of readings."""
        return len(self.time_ns)

    def replace(self, **changes: Any) -> CounterTable:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    def numbers(self, name: str, what: str | None = None) -> list[int]:
        """Numbers of the series of a name, of one device or of all."""
        return [number for number, each in enumerate(self.about) if each.name == name and what in (None, each.what)]

    def of(self, number: int) -> tuple[IntArray, FloatArray]:
        """Times and values of one series, by time."""
        rows = np.flatnonzero(self.series == number)
        rows = rows[np.argsort(self.time_ns[rows], kind="stable")]
        return self.time_ns[rows], self.value[rows]

    def mean(self, name: str, start_ns: int, end_ns: int, what: str | None = None) -> float:
        """Sum over devices of the mean of a rate between two moments, weighted by how long each reading holds; NaN without one."""
        found = [_mean_rate(*self.of(number), start_ns, end_ns) for number in self.numbers(name, what)]
        known = [each for each in found if not np.isnan(each)]
        return float(sum(known)) if known else float("nan")

    def to_frame(self) -> pd.DataFrame:
        """One row a reading: ``time_ns, name, what, unit, host, rank, value``."""
        import pandas as pd

        columns: dict[str, Any] = {"time_ns": self.time_ns}
        for each in ("name", "what", "unit", "host", "rank"):
            values = [getattr(one, each) for one in self.about]
            columns[each] = [values[number] for number in self.series.tolist()]
        return pd.DataFrame({**columns, "value": self.value})


def counter_table(
    readings: Iterable[tuple[Series, Sequence[int] | IntArray, Sequence[float] | FloatArray]],
    *,
    origin_ns: int = 0,
    notes: Sequence[str] = (),
) -> CounterTable:
    """A table from series with their times and values; rows by time.

    Raises
    ------
    ValueError
        Times and values of a series are not of one length.
    """
    numbers: dict[Series, int] = {}
    times, values, of_series = [np.zeros(0, np.int64)], [np.zeros(0)], [np.zeros(0, np.int32)]
    for about, time_ns, value in readings:
        time, found = np.asarray(time_ns, np.int64), np.asarray(value, float)
        if time.shape != found.shape:
            raise ValueError(f"series {about.name}: {len(time)} times and {len(found)} values")
        times.append(time)
        values.append(found)
        of_series.append(np.full(len(time), numbers.setdefault(about, len(numbers)), np.int32))
    time_all, series_all = np.concatenate(times), np.concatenate(of_series)
    order = np.argsort(time_all, kind="stable")
    return CounterTable(
        time_all[order], series_all[order], np.concatenate(values)[order], tuple(numbers), int(origin_ns), tuple(notes)
    )


def joined_counters(tables: Sequence[CounterTable]) -> CounterTable:
    """The readings of several tables on the same clock, the earliest origin."""
    origin = min((each.origin_ns for each in tables), default=0)
    readings = [
        (about, time + (each.origin_ns - origin), value)
        for each in tables
        for number, about in enumerate(each.about)
        for time, value in [each.of(number)]
    ]
    return counter_table(readings, origin_ns=origin, notes=[note for each in tables for note in each.notes])


def _mean_rate(time_ns: IntArray, value: FloatArray, start_ns: int, end_ns: int) -> float:
    """Mean of a rate whose readings hold since the one before."""
    if len(time_ns) < 2:
        return float("nan")
    begin, end = np.maximum(time_ns[:-1], start_ns), np.minimum(time_ns[1:], end_ns)
    held = np.maximum(end - begin, 0).astype(float)
    return float((held * value[1:]).sum() / held.sum()) if held.any() else float("nan")
