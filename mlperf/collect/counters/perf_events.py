"""Which perf events we ask for: the kernel's numbers of each column."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mlperf.collect.counters.perf_event import Event, device_event

HARDWARE_TYPE, SOFTWARE_TYPE, CACHE_TYPE = 0, 1, 3
L1D, L1I, LAST, DATA_TLB, CODE_TLB = 0, 1, 2, 3, 4
READ, WRITE = 0, 1
ACCESS, MISS = 0, 1
NANOSECOND_S = 1e-9


def cache_event(cache: int, operation: int, result: int) -> Event:
    """The kernel's number of a cache event."""
    return Event(CACHE_TYPE, cache | operation << 8 | result << 16)


HARDWARE: Mapping[str, Event] = MappingProxyType(
    {
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
)

SOFTWARE: Mapping[str, Event] = MappingProxyType(
    {
        "sw_task_clock_s": Event(SOFTWARE_TYPE, 1, user_only=False, scale=NANOSECOND_S),
        "sw_page_faults": Event(SOFTWARE_TYPE, 2, user_only=False),
        "sw_minor_faults": Event(SOFTWARE_TYPE, 5, user_only=False),
        "sw_major_faults": Event(SOFTWARE_TYPE, 6, user_only=False),
        "sw_context_switches": Event(SOFTWARE_TYPE, 3, user_only=False),
        "sw_cpu_migrations": Event(SOFTWARE_TYPE, 4, user_only=False),
        "sw_alignment_faults": Event(SOFTWARE_TYPE, 7, user_only=False),
    }
)

IN_THE_KERNEL = ("sw_context_switches", "sw_cpu_migrations")
"""Happen in the kernel: asked for without it they would always be zero."""

MODEL_SPECIFIC = ("tsc", "aperf", "mperf")


def model_specific() -> dict[str, Event]:
    """Registers that the kernel's ``msr`` device offers, by column."""
    found = {f"msr_{name}": device_event("msr", name) for name in MODEL_SPECIFIC}
    return {name: event for name, event in found.items() if event is not None}
