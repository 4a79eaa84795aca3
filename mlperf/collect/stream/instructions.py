"""Instructions of a process and its future children, from the processor's own counter, where there is one."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from dataclasses import dataclass

HARDWARE, SOFTWARE = 0, 1
INSTRUCTIONS = (HARDWARE, 1)
TASK_CLOCK = (SOFTWARE, 1)
SYSTEM_CALL = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
ATTRIBUTE_BYTES = 112
INHERIT, EXCLUDE_KERNEL, EXCLUDE_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
TIMES = 0x3
"""The counter is read with the time it was wanted and the time it really counted."""


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
        count, wanted_ns, counted_ns = struct.unpack("=3Q", os.read(self._handle, 24))
        self.was_shared |= counted_ns < wanted_ns
        self._last = max(self._last, count * wanted_ns / counted_ns if counted_ns else 0.0)
        return self._last

    def close(self) -> None:
        """Give the counter back."""
        os.close(self._handle)


def open_counter(pid: int, event: tuple[int, int] = INSTRUCTIONS) -> InstructionCounter | Absent:
    """Count an event of a process, in user mode, and of the children it will have.

    Parameters
    ----------
    pid : int
        A process of ours.
    event : tuple of int
        Type and number as in the system's ``perf_event.h``.

    Returns
    -------
    InstructionCounter or Absent
        The counter, or why there is none.
    """
    call = SYSTEM_CALL.get(platform.machine())
    if call is None or not os.path.exists("/proc/sys/kernel/perf_event_paranoid"):  # noqa: PTH110 - a flag of the kernel
        return Absent("this kernel has no performance events")
    flags = INHERIT | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR
    attribute = struct.pack("=IIQQQQQ", event[0], ATTRIBUTE_BYTES, event[1], 0, 0, TIMES, flags)
    buffer = ctypes.create_string_buffer(attribute, ATTRIBUTE_BYTES)
    library = ctypes.CDLL(None, use_errno=True)
    handle = library.syscall(call, buffer, pid, -1, ctypes.c_int(-1), ctypes.c_ulong(8))
    if handle < 0:
        return Absent(REASONS.get(ctypes.get_errno(), os.strerror(ctypes.get_errno())))
    return InstructionCounter(handle)


REASONS = {
    errno.ENOENT: "this machine shows no hardware counters (a virtual machine often has none)",
    errno.EOPNOTSUPP: "this machine shows no hardware counters (a virtual machine often has none)",
    errno.EACCES: "the system does not let users count (kernel.perf_event_paranoid)",
    errno.EPERM: "the system does not let users count (kernel.perf_event_paranoid)",
    errno.ESRCH: "the process has ended",
}
