"""What is known about clocks without asking anybody: something on one clock came before something on another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mlperf.core.arrays import IntArray

KINDS = ("message", "collective", "reading", "launch")
MESSAGE, COLLECTIVE, READING, LAUNCH = range(4)


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """Pairs of moments on two clocks, the first at least so much before the second; every array has shape (n_constraints,).

    Attributes
    ----------
    earlier, later : array of int64
        Numbers of the clocks.
    earlier_ns, later_ns : array of int64
        Moments as each clock shows them, nanoseconds.
    least_ns : array of int64
        Time that lies at least between them, nanoseconds, 0 or more.
    kind : array of int64
        Number into `KINDS`.
    """

    earlier: IntArray
    earlier_ns: IntArray
    later: IntArray
    later_ns: IntArray
    least_ns: IntArray
    kind: IntArray

    def __len__(self) -> int:
        """Number of constraints."""
        return len(self.earlier)

    @property
    def bound_ns(self) -> IntArray:
        """Most that the earlier clock's offset may exceed the later one's, nanoseconds."""
        return self.later_ns - self.earlier_ns - self.least_ns

    def take(self, rows: IntArray) -> Constraints:
        """Some of them."""
        return Constraints(*(getattr(self, name)[rows] for name in self.__slots__))


def constraints(
    earlier: ArrayLike, earlier_ns: ArrayLike, later: ArrayLike, later_ns: ArrayLike, least_ns: ArrayLike = 0, kind: int = MESSAGE
) -> Constraints:
    """Constraints of one kind between different clocks; those within one clock say nothing and are left out."""
    columns = np.broadcast_arrays(
        *(np.asarray(one, dtype=np.int64) for one in (earlier, earlier_ns, later, later_ns, least_ns, kind))
    )
    apart = columns[0] != columns[2]
    return Constraints(*(column[apart] for column in columns))


def shifted(found: Constraints, offset_ns: IntArray) -> Constraints:
    """The same constraints on clocks that are put forward by some offsets, shape (n_clocks,)."""
    return Constraints(
        found.earlier,
        found.earlier_ns + offset_ns[found.earlier],
        found.later,
        found.later_ns + offset_ns[found.later],
        found.least_ns,
        found.kind,
    )


def joined(parts: Sequence[Constraints]) -> Constraints:
    """All constraints of several."""
    if not parts:
        return Constraints(*(np.empty(0, dtype=np.int64) for _ in Constraints.__slots__))
    return Constraints(*(np.concatenate([getattr(part, name) for part in parts]) for name in Constraints.__slots__))


def bracketed(clock: ArrayLike, before_ns: ArrayLike, other: ArrayLike, reading_ns: ArrayLike, after_ns: ArrayLike) -> Constraints:
    """Readings of one clock between two readings of another.

    Parameters
    ----------
    clock, other : int or array of int, shape (n_readings,)
        Number of the clock that is read twice, and of the one in between.
    before_ns, reading_ns, after_ns : array of int, shape (n_readings,)
        The three readings in the order in which they were taken, nanoseconds.
    """
    return joined(
        (
            constraints(clock, before_ns, other, reading_ns, kind=READING),
            constraints(other, reading_ns, clock, after_ns, kind=READING),
        )
    )
