"""Parallel regions that are open, and whether what happens now is recorded: the same rules as in ``data/regions.c``."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from mlperf.traces.events.kinds import Kind
from mlperf.traces.readers.rank_file import OPEN, POSTED
from mlperf.traces.recording.rank_writer import RankWriter


@dataclass(slots=True)
class Selection:
    """The part of the run that is wanted.

    Attributes
    ----------
    region : str
        Only inside this region; empty: any.
    first, last : int
        Passes from ``first`` to before ``last``.
    by_region : bool
        Whether anything depends on regions.
    is_on : bool
        What the program said last by ``Pcontrol``.
    """

    region: str = ""
    first: int = 0
    last: int = sys.maxsize
    by_region: bool = False
    is_on: bool = True
    _open: list[tuple[str, int, bool]] = field(default_factory=list)
    _passes: dict[str, int] = field(default_factory=dict)
    n_wrong_ends: int = 0

    @property
    def records(self) -> bool:
        """Whether events are recorded now."""
        return self.is_on and (not self.by_region or any(selected for _, _, selected in self._open))

    def begin(self, writer: RankWriter, name: str, now_ns: int, site: int) -> None:
        """Open a region."""
        number = self._passes.get(name, 0)
        self._passes[name] = number + 1
        named = name == self.region if self.region else not self._open
        selected = self.by_region and named and self.first <= number < self.last
        depth = len(self._open)
        self._open.append((name, -1, selected))
        flags = OPEN | (0 if self.records else POSTED)
        place = writer.event(Kind.REGION, name, now_ns, now_ns, number=number, count=depth, site=site, flags=flags)
        self._open[-1] = (name, place, selected)

    def end(self, writer: RankWriter, name: str, now_ns: int) -> None:
        """Close the innermost region of that name, and those in it; without a name the innermost."""
        names = [each for each, _, _ in self._open]
        if not names or (name and name not in names):
            self.n_wrong_ends += 1
            return
        until = len(names) - 1 - names[::-1].index(name) if name else len(names) - 1
        while len(self._open) > until:
            recorded = self.records
            _, place, _ = self._open.pop()
            writer.patch(place, end_ns=now_ns, flags=0 if recorded else POSTED)

    def end_all(self, writer: RankWriter, now_ns: int) -> None:
        """Close what is still open at the end, counted."""
        self.n_wrong_ends += len(self._open)
        while self._open:
            self.end(writer, "", now_ns)


def selection_from(environment: Mapping[str, str] = os.environ) -> Selection:
    """What ``mlperf trace record`` asked for."""
    region, passes = environment.get("MLPERF_RECORD_REGION", ""), environment.get("MLPERF_RECORD_ITERATIONS", "")
    first, colon, last = passes.partition(":")
    begin = int(first) if first else 0
    end = (int(last) if last else sys.maxsize) if colon else begin + 1 if first else sys.maxsize
    is_on = environment.get("MLPERF_RECORD_PAUSED", "") != "1"
    return Selection(region, begin, end, bool(region or passes), is_on)
