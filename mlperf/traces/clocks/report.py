"""What is known of the clocks of a trace: offsets with bounds, what the bounds come from, contradictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.shown import Shown

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClockReport(Shown):
    """Offsets of clocks against a reference clock; the offset is what is added to a clock's reading.

    Attributes
    ----------
    clocks : tuple of str
        ``"rank 0"``, ``"host 1"``.
    reference : int
        The clock that all others are set by.
    most_drift_ppm : float
        Largest drift that was allowed for, millionths; 0: clocks run alike.
    moments_ns : array of int64, shape (n_clocks, 3)
        First reading of each clock in the trace, the middle and the last.
    rough_ns : array of int64, shape (n_clocks,)
        Rough offsets, nanoseconds, beside which the bounds are given.
    low_ns, high_ns : array, shape (n_clocks, 3)
        Bounds of the offset beside the rough one at these moments, nanoseconds; infinite: unbounded. Between moments the straight
        line holds.
    drift_low_ppm, drift_high_ppm : array, shape (n_clocks,)
        Bounds of the drift, millionths.
    pair_uncertainty_ns : array, shape (n_clocks, n_clocks)
        Half of the range that the difference of two clocks' offsets may have, nanoseconds; infinite: unbounded.
    n_constraints : mapping of str to int
        Where the bounds come from: messages, collective operations, readings, launches between different clocks.
    contradiction : tuple of str
        Constraints that cannot hold together, one sentence each; then there are no bounds. Empty: none.
    """

    clocks: tuple[str, ...]
    reference: int
    most_drift_ppm: float
    moments_ns: IntArray
    rough_ns: IntArray
    low_ns: FloatArray
    high_ns: FloatArray
    drift_low_ppm: FloatArray
    drift_high_ppm: FloatArray
    pair_uncertainty_ns: FloatArray
    n_constraints: dict[str, int]
    contradiction: tuple[str, ...] = ()

    @property
    def offset_ns(self) -> FloatArray:
        """Middle of the bounds at the middle of the trace, shape (n_clocks,); NaN: unbounded on a side."""
        return np.asarray(self.rough_ns + self.middle_ns[:, 1])

    @property
    def middle_ns(self) -> FloatArray:
        """Middle of the bounds beside the rough offset at every moment; NaN: unbounded on a side."""
        with np.errstate(invalid="ignore"):
            middle = (self.low_ns + self.high_ns) / 2.0
        return np.where(np.isfinite(middle), middle, np.nan)

    @property
    def uncertainty_ns(self) -> FloatArray:
        """Largest half width of the bounds over the trace, shape (n_clocks,), nanoseconds; infinite: unbounded."""
        return np.asarray(((self.high_ns - self.low_ns) / 2.0).max(axis=1))

    @property
    def is_bounded(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Clocks whose offset has both bounds, shape (n_clocks,)."""
        return np.asarray(np.isfinite(self.uncertainty_ns))

    @property
    def as_recorded_fits(self) -> bool:
        """Whether no constraint speaks against all clocks showing the same time as they are."""
        rough = self.rough_ns[:, None]
        return not self.contradiction and bool(((rough + self.low_ns <= 0) & (rough + self.high_ns >= 0)).all())

    @property
    def notes(self) -> tuple[str, ...]:
        """Contradictions and clocks without bounds, one sentence each."""
        if self.contradiction:
            return ("The clocks contradict each other, whatever their offsets:", *self.contradiction)
        return tuple(self._unbounded(clock) for clock in np.flatnonzero(~self.is_bounded).tolist())

    def _unbounded(self, clock: int) -> str:
        """What is not known of a clock, and why."""
        sides = [word for word, ends in (("below", self.low_ns), ("above", self.high_ns)) if np.isinf(ends[clock]).any()]
        why = "nothing connects it with" if len(sides) > 1 else "messages go in one direction only between it and"
        return f"{self.clocks[clock]}: offset unbounded {' and '.join(sides)}: {why} {self.clocks[self.reference]}."

    def to_frame(self) -> pd.DataFrame:
        """One row a clock: offset, bounds and uncertainty in microseconds, drift in millionths."""
        import pandas as pd

        return pd.DataFrame(
            {
                "clock": self.clocks,
                "offset_us": self.offset_ns / 1e3,
                "lower_us": (self.rough_ns + self.low_ns[:, 1]) / 1e3,
                "upper_us": (self.rough_ns + self.high_ns[:, 1]) / 1e3,
                "uncertainty_us": self.uncertainty_ns / 1e3,
                "drift_lower_ppm": self.drift_low_ppm,
                "drift_upper_ppm": self.drift_high_ppm,
                "bounded": self.is_bounded,
            }
        )
