"""What a study has to know of the machine behind a table: caches, clock, vectors; every number says whence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown
from mlperf.datasets.campaigns.kernel_times import UNNAMED
from mlperf.datasets.reading.folder import HOST
from mlperf.features.source.caches import DEFAULT_CACHES, CacheLevel

NAN = float("nan")
TLB = DEFAULT_CACHES[2]


@dataclass(frozen=True, slots=True)
class MachineFacts(Shown):
    """One machine as the cache model and the general models see it.

    Attributes
    ----------
    name : str
        As in the tables' column ``machine``.
    caches : tuple of CacheLevel
        First and second level, and the TLB that a page has to be in.
    last_cache_bytes : int
        Capacity of the last level; 0: unknown.
    clock_hz : float
        Cycles per second; NaN: unknown.
    clock_source : str
        Where the clock comes from.
    source : str
        Where the caches come from.
    """

    name: str
    caches: tuple[CacheLevel, ...]
    last_cache_bytes: int
    clock_hz: float
    clock_source: str
    source: str

    def terms(self) -> dict[str, float]:
        """Machine features of a general model: capacities in bytes, clock in Hz (0: unknown)."""
        named = {f"machine_{cache.name}_bytes": float(cache.size_bytes) for cache in self.caches}
        clock = self.clock_hz if self.clock_hz == self.clock_hz else 0.0
        return named | {"machine_last_cache_bytes": float(self.last_cache_bytes), "machine_clock_hz": clock}


KNOWN: Mapping[str, MachineFacts] = MappingProxyType(
    {
        "simd_tensor": MachineFacts(
            "AMD EPYC family 25 model 1",
            DEFAULT_CACHES,
            32 * 2**20,
            2.445e9,
            "time stamp counter, 2.445 GHz; the true core clock is unknown",
            "README of the sweep",
        ),
    }
)
"""Machines behind open tables that do not say it themselves."""

ASSUMED = MachineFacts(UNNAMED, DEFAULT_CACHES, 0, NAN, "unknown", "assumed: 32 KiB and 512 KiB, 8 ways; TLB of 64 pages of 4 KiB")


def machine_from_host(name: str, host: Mapping[str, Any]) -> MachineFacts:
    """Facts of a machine from a campaign's ``host.json``; what it does not tell is assumed, and said so.

    Parameters
    ----------
    name : str
        As in the column ``machine``.
    host : mapping
        ``caches`` (mapping of ``l1d``, ``l2``, ``l3`` to ``size_bytes``, ``ways``, ``line_bytes``) and ``clock`` (``frequency_hz``,
        ``source``), both optional.
    """
    told = host.get("caches")
    levels = told if isinstance(told, Mapping) else {}
    first = cache_from(levels.get("l1d", levels.get("l1")), DEFAULT_CACHES[0])
    second = cache_from(levels.get("l2"), DEFAULT_CACHES[1])
    last = levels.get("l3")
    clock = host.get("clock")
    clock = clock if isinstance(clock, Mapping) else {}
    frequency = told_number(clock, "frequency_hz") or NAN
    return MachineFacts(
        name,
        (first, second, TLB),
        int(told_number(last, "size_bytes")) if isinstance(last, Mapping) else 0,
        frequency,
        str(clock.get("source", "unknown")),
        "host.json" if levels else ASSUMED.source,
    )


def cache_from(told: Any, assumed: CacheLevel) -> CacheLevel:
    """A cache level as host.json tells it, in the place of an assumed one."""
    if not isinstance(told, Mapping) or not told.get("size_bytes"):
        return assumed
    size_bytes, line_bytes, ways = (int(told_number(told, name)) for name in ("size_bytes", "line_bytes", "ways"))
    return CacheLevel(assumed.name, size_bytes, line_bytes or assumed.line_bytes, ways)


def told_number(told: Mapping[str, Any], name: str) -> float:
    """A number that host.json may tell, 0 where it does not; DataError: it is another thing than a number >= 0."""
    if told.get(name) is None:
        return 0.0
    return Fields(told, HOST).number(name, lower=0.0)
