"""Caches of the machine that a campaign was measured on, for the cache model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlperf.features.source.caches import CacheLevel

LINE_BYTES = 64
PAGE_BYTES = 4096
# Entries of the second-level data TLB of current x86-64 cores lie between 1536 and 4096.
TLB_ENTRIES = 2048
LEVELS = (("l1", "L1d", 32 * 2**10), ("l2", "L2", 512 * 2**10), ("l3", "L3", 16 * 2**20))


def caches_of(host: Mapping[str, Any]) -> tuple[CacheLevel, ...]:
    """Levels named ``l1``, ``l2``, ``l3`` and ``tlb``, fully associative.

    Parameters
    ----------
    host : mapping
        The machine's part of ``host.json`` with ``cache_bytes``; a level that it does not know has a usual size.
    """
    known = host.get("cache_bytes", {})
    levels = [CacheLevel(name, int(known.get(level, usual)), LINE_BYTES) for name, level, usual in LEVELS]
    return (*levels, CacheLevel("tlb", TLB_ENTRIES * PAGE_BYTES, PAGE_BYTES))
