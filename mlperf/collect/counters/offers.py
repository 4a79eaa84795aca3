"""What this machine offers: ok, degraded or absent, counter by counter, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from mlperf.core.shown import Shown

OK, DEGRADED, ABSENT = "ok", "degraded", "absent"


@dataclass(frozen=True, slots=True)
class CounterOffer:
    """One counter, as it was found by opening it.

    Attributes
    ----------
    name : str
        Its column.
    status : str
        ``"ok"``, ``"degraded"`` or ``"absent"``.
    why : str
        What is wrong with it; empty where nothing is.
    """

    name: str
    status: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class SourceOffer:
    """What one source offers.

    Attributes
    ----------
    source : str
        Its name, as ``--sources`` takes it.
    status : str
        ``"ok"``: everything; ``"degraded"``: a part, or with a reservation; ``"absent"``: nothing.
    why : str
        The reservation.
    package : str
        What to install where the source is a program or a library that is not; empty otherwise.
    counters : tuple of CounterOffer
        One by one.
    at_once : int
        How many events of the processor can be trusted to count at once; 0: as many as there are.
    """

    source: str
    status: str
    why: str
    package: str
    counters: tuple[CounterOffer, ...]
    at_once: int = 0

    @property
    def usable(self) -> tuple[str, ...]:
        """Columns that can be filled."""
        return tuple(each.name for each in self.counters if each.status != ABSENT)


@dataclass(frozen=True, slots=True)
class Probe(Shown):
    """What the counters of this machine are.

    Attributes
    ----------
    sources : tuple of SourceOffer
        In the order in which they are asked.
    """

    sources: tuple[SourceOffer, ...]

    def to_frame(self) -> pd.DataFrame:
        """One row a source."""
        rows = [(each.source, each.status, len(each.usable), len(each.counters), each.why) for each in self.sources]
        return pd.DataFrame(rows, columns=["source", "status", "usable", "known", "why"])

    def wanting(self) -> pd.DataFrame:
        """One row for each counter that is degraded or absent though its source is there."""
        there = [each for each in self.sources if each.status != ABSENT]
        rows = [(one.name, one.status, one.why) for each in there for one in each.counters if one.status != OK]
        return pd.DataFrame(rows, columns=["counter", "status", "why"])

    def named(self, source: str) -> SourceOffer:
        """The offer of one source."""
        return next(each for each in self.sources if each.source == source)


def source_offer(source: str, counters: Sequence[CounterOffer], *, why: str = "", at_once: int = 0) -> SourceOffer:
    """Sum up the counters of a source: a source is no better than its counters, and ``why`` degrades it."""
    n_missing = sum(each.status == ABSENT for each in counters)
    if n_missing == len(counters):
        reasons = dict.fromkeys(each.why for each in counters)
        return SourceOffer(source, ABSENT, "; ".join(reasons), "", tuple(counters))
    limit = f"{at_once} events at once, more lose counts unsaid: runs take turns" if at_once else ""
    reasons = dict.fromkeys(text for text in (why, limit, *(each.why for each in counters if each.status == DEGRADED)) if text)
    if n_missing:
        reasons[f"{n_missing} of {len(counters)} counters are absent"] = None
    return SourceOffer(source, DEGRADED if reasons else OK, "; ".join(reasons), "", tuple(counters), at_once)


def absent_source(source: str, names: Sequence[str], why: str, package: str = "") -> SourceOffer:
    """A source that offers nothing, for one reason."""
    return SourceOffer(source, ABSENT, why, package, tuple(CounterOffer(name, ABSENT, why) for name in names))


@dataclass(slots=True)
class Readings:
    """What was counted in one run.

    Attributes
    ----------
    values : dict
        By column; what was not counted is not in it.
    scaled : list of str
        Columns whose events shared the processor's counters: extrapolated from a part of the time.
    """

    values: dict[str, float] = field(default_factory=dict)
    scaled: list[str] = field(default_factory=list)

    def add(self, other: Readings) -> None:
        """Take over what another source counted in the same run."""
        self.values |= other.values
        self.scaled += other.scaled
