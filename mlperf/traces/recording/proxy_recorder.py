"""What all wrapped communicators of one rank share: its file, its communicators' numbers, its clock readings."""

from __future__ import annotations

import atexit
import os
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.core.extras import require
from mlperf.traces.readers.rank_file import BRACKET, CLOCK, TRIP
from mlperf.traces.recording.rank_writer import RankWriter
from mlperf.traces.recording.regions import marks
from mlperf.traces.recording.selection import Selection, selection_from

READINGS, TRIPS = 8, 12


class ProxyRecorder:
    """The recorder of this rank.

    Attributes
    ----------
    writer : RankWriter
        Its file.
    selection : Selection
        What of the run is recorded.
    probe : Probe or None
        The last that has found a message.
    """

    def __init__(self, folder: Path) -> None:
        self.mpi = require("mpi4py.MPI", "mpi")
        world = self.mpi.COMM_WORLD
        self.rank: int = world.Get_rank()
        self.writer = RankWriter(folder, self.rank, world.Get_size())
        self.selection: Selection = selection_from()
        self.probe: Any = None
        self._numbers = 0
        self._n_comms = 0
        self._world_group = world.Get_group()
        self._clock_comm = world.Dup()
        self._read_clocks(0)
        marks.append((self.begin, self.end))

    @property
    def records(self) -> bool:
        """Whether calls are recorded now."""
        return self.selection.records

    def number(self) -> int:
        """A new number for what belongs together."""
        self._numbers += 1
        return self._numbers

    def new_comm(self, comm: Any) -> tuple[int, list[int]]:
        """Number of a communicator, and the world's ranks by its own (of the other group of an intercommunicator)."""
        number = self._n_comms
        self._n_comms += 1
        group = self._translated(comm.Get_group())
        if not comm.Is_inter():
            self.writer.members(number, group)
            return number, group
        other = self._translated(comm.Get_remote_group())
        self.writer.members(number, group + other if group[:1] < other[:1] else other + group)
        return number, other

    def begin(self, name: str) -> None:
        """Open a region."""
        self.selection.begin(self.writer, name, time.monotonic_ns(), self.writer.site(3))

    def end(self, name: str) -> None:
        """Close a region."""
        self.selection.end(self.writer, name, time.monotonic_ns())

    def close(self) -> None:
        """Read the clocks once more, with all ranks, and complete the file."""
        if (self.begin, self.end) not in marks:
            return
        marks.remove((self.begin, self.end))
        self.selection.end_all(self.writer, time.monotonic_ns())
        # A rank that failed leaves the others alone: nobody answers for it, and what is recorded is in the file already.
        # Nor can anybody be asked where the program has ended MPI itself.
        if getattr(sys, "last_value", None) is None and not self.mpi.Is_finalized():
            self._read_clocks(1)
            self._clock_comm.Free()
        self.writer.close(self.selection.n_wrong_ends)

    def _translated(self, group: Any) -> list[int]:
        ranks = list(range(group.Get_size()))
        return [max(rank, -1) for rank in self.mpi.Group.Translate_ranks(group, ranks, self._world_group)]

    def _read_clocks(self, when: int) -> None:
        """The time since 1970 between two readings of our clock; and rank 0's between two of ours."""
        readings = [(time.monotonic_ns(), time.time_ns(), time.monotonic_ns()) for _ in range(READINGS)]
        before, other, after = min(readings, key=lambda one: one[2] - one[0])
        self.writer.raw(CLOCK, start_ns=before, end_ns=after, tag=BRACKET, count=when, peer=-1, id=other)
        comm, answer = self._clock_comm, np.zeros(1, dtype=np.int64)
        if self.rank == 0:
            for rank in range(1, comm.Get_size()):
                for _ in range(TRIPS):
                    comm.Recv(answer, rank)
                    answer[0] = time.monotonic_ns()
                    comm.Send(answer, rank)
            return
        trips = []
        for _ in range(TRIPS):
            before = time.monotonic_ns()
            comm.Send(answer, 0)
            comm.Recv(answer, 0)
            trips.append((before, int(answer[0]), time.monotonic_ns()))
        before, other, after = min(trips, key=lambda one: one[2] - one[0])
        self.writer.raw(CLOCK, start_ns=before, end_ns=after, tag=TRIP, count=when, peer=0, id=other)


@cache
def recorder() -> ProxyRecorder:
    """Recorder of the process, made on first use by all ranks together; its file is completed when Python ends."""
    made = ProxyRecorder(Path(os.environ.get("MLPERF_RECORD_DIR", ".")))
    atexit.register(made.close)
    return made
