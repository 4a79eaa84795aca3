"""Events of the kernel's perf interface, opened without any tool by ctypes, and which of them we ask for."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mlperf.core.errors import MissingExtraError

SYSCALLS: Mapping[str, int] = {
    "x86_64": 298,
    "aarch64": 241,
    "riscv64": 241,
    "loongarch64": 241,
    "ppc64le": 319,
    "ppc64": 319,
    "s390x": 331,
    "i686": 336,
    "armv7l": 364,
}
DEVICES = Path("/sys/bus/event_source/devices")
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
DISABLED, INHERIT, PINNED, EXCLUDE_KERNEL, EXCLUDE_HYPERVISOR, ENABLE_ON_EXEC = (1 << bit for bit in (0, 1, 2, 5, 6, 12))
CLOSE_ON_EXEC = 1 << 3
TIME_ENABLED_AND_RUNNING = 3
READING = struct.Struct("=QQQ")


class Attributes(ctypes.Structure):
    """The first version of ``struct perf_event_attr``, which every kernel accepts."""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("config", ctypes.c_uint64),
        ("sample_period", ctypes.c_uint64),
        ("sample_type", ctypes.c_uint64),
        ("read_format", ctypes.c_uint64),
        ("flags", ctypes.c_uint64),
        ("wakeup_events", ctypes.c_uint32),
        ("bp_type", ctypes.c_uint32),
        ("config1", ctypes.c_uint64),
    )


@dataclass(frozen=True, slots=True)
class Event:
    """What the kernel is asked to count.

    Attributes
    ----------
    type, config : int
        Numbers of the kernel's interface.
    user_only : bool
        Whether the kernel's own work is left out.
    scale : float
        Factor from the kernel's number to the column's unit.
    pinned : bool
        Whether it keeps a counter of its own while others take turns.
    """

    type: int
    config: int
    user_only: bool = True
    scale: float = 1.0
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What one event counted.

    Attributes
    ----------
    value : float
        Scaled up where the event had to share its counter with others.
    running_share : float
        Share of the time that the event was counted; 1 where it was counted all the time.
    """

    value: float
    running_share: float


def open_event(event: Event, pid: int = 0, *, on_exec: bool = False) -> int:
    """Open an event on a process and the children it will have; 0 is the calling thread.

    Parameters
    ----------
    on_exec : bool
        Begin to count when the process turns into another program; otherwise at once.

    Returns
    -------
    int
        File descriptor for `read_event`.

    Raises
    ------
    OSError
        As the kernel refused it.
    """
    flags = INHERIT | (DISABLED | ENABLE_ON_EXEC if on_exec else 0)
    flags |= EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR if event.user_only else 0
    flags |= PINNED if event.pinned else 0
    attributes = Attributes(
        type=event.type,
        size=ctypes.sizeof(Attributes),
        config=event.config,
        read_format=TIME_ENABLED_AND_RUNNING,
        flags=flags,
    )
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    # A variable argument list promotes nothing: every argument is a long.
    words = [ctypes.c_long(number) for number in (pid, -1, -1, CLOSE_ON_EXEC)]
    handle = int(call(ctypes.c_long(_syscall_number()), ctypes.byref(attributes), *words))
    if handle < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return handle


def read_event(handle: int) -> Reading | None:
    """What an event has counted so far; None where it never came to count."""
    content = os.read(handle, READING.size)
    # The kernel gives nothing where a pinned event lost its counter to somebody else.
    if len(content) < READING.size:
        return None
    count, enabled_ns, running_ns = READING.unpack(content)
    if running_ns == 0:
        return None
    return Reading(count * (enabled_ns / running_ns), running_ns / enabled_ns)


@contextmanager
def closing(handles: Iterable[int]) -> Iterator[None]:
    """Close file descriptors at the end of the block."""
    try:
        yield
    finally:
        for handle in handles:
            os.close(handle)


def _syscall_number() -> int:
    """Number of ``perf_event_open`` on this architecture; MissingExtraError: it is not known."""
    machine = platform.machine()
    if machine not in SYSCALLS:
        raise MissingExtraError(f"the number of perf_event_open is not known for {machine}", place="perf events")
    return SYSCALLS[machine]


def refusal(error: OSError) -> str:
    """Why the kernel refused an event, in words."""
    if error.errno in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV, errno.EINVAL):
        return "this processor, or the machine it is lent by, does not offer it"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"not permitted here (perf_event_paranoid is {paranoid()})"
    if error.errno == errno.ESRCH:
        return "the process has ended"
    if error.errno == errno.ENOSYS:
        return "the kernel has no perf events"
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return "too many files are open"
    return error.strerror or f"error {error.errno}"


def paranoid() -> str:
    """The kernel's setting of who may count what; ``"unknown"`` where it does not say."""
    try:
        return PARANOID.read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"


def device_event(device: str, name: str) -> Event | None:
    """An event that a device of the kernel names in /sys; None where it does not."""
    folder = DEVICES / device
    try:
        kind = int((folder / "type").read_text(encoding="ascii"))
        text = (folder / "events" / name).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    _, _, number = text.partition("event=")
    return Event(kind, int(number, 0), user_only=False) if number else None


HARDWARE_TYPE, SOFTWARE_TYPE, CACHE_TYPE = 0, 1, 3
L1D, L1I, LAST, DATA_TLB, CODE_TLB = 0, 1, 2, 3, 4
READ, WRITE = 0, 1
ACCESS, MISS = 0, 1
NANOSECOND_S = 1e-9


def cache_event(cache: int, operation: int, result: int) -> Event:
    """The kernel's number of a cache event."""
    return Event(CACHE_TYPE, cache | operation << 8 | result << 16)


HARDWARE: Mapping[str, Event] = {
    "hw_instructions": Event(HARDWARE_TYPE, 1, pinned=True),
    "hw_cycles": Event(HARDWARE_TYPE, 0, pinned=True),
    "hw_branches": Event(HARDWARE_TYPE, 4),
    "hw_branch_misses": Event(HARDWARE_TYPE, 5),
    "hw_l1d_load_misses": cache_event(L1D, READ, MISS),
    "hw_l1d_loads": cache_event(L1D, READ, ACCESS),
    "hw_l1d_stores": cache_event(L1D, WRITE, ACCESS),
    "hw_cache_references": Event(HARDWARE_TYPE, 2),
    "hw_cache_misses": Event(HARDWARE_TYPE, 3),
    "hw_llc_loads": cache_event(LAST, READ, ACCESS),
    "hw_llc_load_misses": cache_event(LAST, READ, MISS),
    "hw_dtlb_load_misses": cache_event(DATA_TLB, READ, MISS),
    "hw_dtlb_loads": cache_event(DATA_TLB, READ, ACCESS),
    "hw_itlb_load_misses": cache_event(CODE_TLB, READ, MISS),
    "hw_l1i_load_misses": cache_event(L1I, READ, MISS),
    "hw_ref_cycles": Event(HARDWARE_TYPE, 9),
    "hw_stalled_cycles_frontend": Event(HARDWARE_TYPE, 7),
    "hw_stalled_cycles_backend": Event(HARDWARE_TYPE, 8),
}

SOFTWARE: Mapping[str, Event] = {
    "sw_task_clock_s": Event(SOFTWARE_TYPE, 1, user_only=False, scale=NANOSECOND_S),
    "sw_page_faults": Event(SOFTWARE_TYPE, 2, user_only=False),
    "sw_minor_faults": Event(SOFTWARE_TYPE, 5, user_only=False),
    "sw_major_faults": Event(SOFTWARE_TYPE, 6, user_only=False),
    "sw_context_switches": Event(SOFTWARE_TYPE, 3, user_only=False),
    "sw_cpu_migrations": Event(SOFTWARE_TYPE, 4, user_only=False),
    "sw_alignment_faults": Event(SOFTWARE_TYPE, 7, user_only=False),
}

IN_THE_KERNEL = ("sw_context_switches", "sw_cpu_migrations")
"""Happen in the kernel: asked for without it they would always be zero."""

MODEL_SPECIFIC = ("tsc", "aperf", "mperf")


def model_specific() -> dict[str, Event]:
    """Registers that the kernel's ``msr`` device offers, by column."""
    found = {f"msr_{name}": device_event("msr", name) for name in MODEL_SPECIFIC}
    return {name: event for name, event in found.items() if event is not None}
