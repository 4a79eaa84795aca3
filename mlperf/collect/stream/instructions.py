"""Instructions of a process and its future children, from the processor's own counter, where there is one."""

from __future__ import annotations

import os
from dataclasses import dataclass

from mlperf.collect.counters.perf_event import Event, open_event, read_event, refusal
from mlperf.core.errors import MissingExtraError

INSTRUCTIONS = Event(0, 1)
TASK_CLOCK = Event(1, 1)


@dataclass(frozen=True, slots=True)
class Absent:
    """No counter, and why."""

    reason: str


class InstructionCounter:
    """An open event; `open_counter` makes one.

    Parameters
    ----------
    handle : int
        File descriptor of the event.

    Attributes
    ----------
    was_shared : bool
        Whether the processor counted only part of the time, so that counts are scaled up.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._last = 0.0
        self.was_shared = False

    def read(self) -> float:
        """Counted so far, scaled up where the counter was shared with others; never falls."""
        reading = read_event(self._handle)
        if reading is not None:
            self.was_shared |= reading.running_share < 1
            self._last = max(self._last, reading.value)
        return self._last

    def close(self) -> None:
        """Give the counter back."""
        os.close(self._handle)


def open_counter(pid: int, event: Event = INSTRUCTIONS) -> InstructionCounter | Absent:
    """Count an event of a process, in user mode, and of the children it will have.

    Parameters
    ----------
    pid : int
        A process of ours.
    event : Event
        What to count.

    Returns
    -------
    InstructionCounter or Absent
        The counter, or why there is none.
    """
    try:
        return InstructionCounter(open_event(event, pid))
    except OSError as error:
        return Absent(refusal(error))
    except MissingExtraError as error:
        return Absent(error.message)
