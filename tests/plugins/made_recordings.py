"""Recordings made of known parts: steps with marks, samples and stacks whose truth the maker knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlperf.traces.events.counters import counter_table
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import Strings, event_table
from mlperf.traces.whole_run.recording import Recording

MS = 1_000_000
CORES = 8


@dataclass
class Made:
    """Rows of a recording, added one by one; times in nanoseconds."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    strings: Strings = field(default_factory=Strings)
    lines: dict[str, str] = field(default_factory=dict)

    def add(self, kind: Kind, start_ns: int, duration_ns: int = 0, name: str = "", **columns: Any) -> None:
        texts = {each: self.strings.number(columns.pop(each)) for each in ("name2", "site") if each in columns}
        self.rows.append(
            {"kind": kind, "start_ns": start_ns, "duration_ns": duration_ns, "name": self.strings.number(name), **texts, **columns}
        )

    def marks(
        self, start_ns: int, parts: Mapping[str, int], rank: int = 0, tid: int = 1, sizes: Mapping[str, int] | None = None
    ) -> int:
        """One step with these phases one after another; returns its end."""
        end = start_ns + sum(parts.values())
        self.add(Kind.REGION, start_ns, end - start_ns, "step", rank=rank, pid=10 + rank, tid=tid)
        at = start_ns
        for name, length in parts.items():
            self.add(Kind.REGION, at, length, name, rank=rank, pid=10 + rank, tid=tid, size_bytes=(sizes or {}).get(name, 0))
            at += length
        return end

    def samples(
        self, start_ns: int, end_ns: int, name: str, *, tid: int = 1, pid: int = 10, file: str = "a.so", every_ns: int = 5 * MS
    ) -> None:
        """CPU time of one thread all along."""
        for at in range(start_ns + every_ns // 2, end_ns, every_ns):
            self.add(Kind.SAMPLE, at, 0, name, name2=file, rank=pid - 10, pid=pid, tid=tid, weight_ns=every_ns)

    def stacks(
        self,
        start_ns: int,
        end_ns: int,
        names: Sequence[str],
        *,
        tid: int = 1,
        pid: int = 10,
        line: int = 1,
        text: str = "",
        file: str = "a.py",
        every_ns: int = 5 * MS,
    ) -> None:
        """Where one thread stood all along."""
        self.lines[f"{file}:{line}"] = text
        for at in range(start_ns + every_ns // 2, end_ns, every_ns):
            self.add(
                Kind.STACK,
                at,
                0,
                names[-1],
                name2=file,
                site=";".join(names),
                rank=pid - 10,
                pid=pid,
                tid=tid,
                tag=line,
                weight_ns=every_ns,
            )

    def recording(self, folder: Path = Path("made"), **host: Any) -> Recording:
        columns = sorted({name for row in self.rows for name in row})
        defaults = {"size_bytes": 0, "weight_ns": 0, "duration_ns": 0}
        arrays = {name: np.array([row.get(name, defaults.get(name, -1)) for row in self.rows]) for name in columns}
        table = event_table(
            len(self.rows), strings=self.strings.all(), sources=("made",), attributes={"lines": self.lines}, **arrays
        ).by_time()
        about = {"host": {"n_cores": CORES, **host}, "command": ["made"]}
        end = int(table.end_ns.max()) if len(table) else 0
        return Recording(folder, about, table, counter_table([]), 0, end)


@pytest.fixture
def made() -> Callable[[], Made]:
    """A maker of recordings."""
    return Made
