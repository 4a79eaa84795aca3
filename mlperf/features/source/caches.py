"""Caches and TLBs as the reuse model sees them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mlperf.core.errors import UsageError

_SPELLING = re.compile(
    r"(?P<name>[a-z]\w*)=(?P<size>\d{1,12})(?P<unit>[KMG]?)/(?P<line>\d{1,12})(?:/(?P<ways>\d{1,12}))?", re.ASCII
)
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


@dataclass(frozen=True, slots=True)
class CacheLevel:
    """A cache, or a TLB with pages for lines; least recently used lines leave first.

    Attributes
    ----------
    name : str
        ``"l1"``; goes into column names.
    size_bytes : int
        Capacity.
    line_bytes : int
        Bytes of a line or page.
    ways : int
        Lines of a set; 0: fully associative.
    """

    name: str
    size_bytes: int
    line_bytes: int
    ways: int = 0

    def __post_init__(self) -> None:
        if self.line_bytes < 1 or self.size_bytes < self.line_bytes or self.ways < 0 or not self.name.isidentifier():
            raise UsageError(
                f"got cache {self.name!r} of {self.size_bytes} bytes, lines of {self.line_bytes}, {self.ways} ways",
                hint="A name such as l1, at least one line of at least one byte, ways >= 0 (0: fully associative).",
            )

    def __str__(self) -> str:
        ways = f"{self.ways} ways" if self.ways else "fully associative"
        return f"{self.size_bytes} bytes, lines of {self.line_bytes}, {ways}"

    @property
    def n_lines(self) -> int:
        """Lines that the cache holds."""
        return self.size_bytes // self.line_bytes

    @property
    def set_size(self) -> int:
        """Lines of a set."""
        return min(self.ways, self.n_lines) or self.n_lines

    @property
    def n_sets(self) -> int:
        """Sets; 1 where it is fully associative."""
        return self.n_lines // self.set_size


DEFAULT_CACHES = (
    CacheLevel("l1", 32 * 1024, 64, 8),
    CacheLevel("l2", 512 * 1024, 64, 8),
    CacheLevel("tlb", 64 * 4096, 4096),
)


def parse_cache(text: str) -> CacheLevel:
    """The cache that ``l1=32K/64/8`` spells: name, capacity, bytes of a line, ways (none: fully associative).

    Raises
    ------
    UsageError
        Spelled otherwise, or no whole number of sets.
    """
    found = _SPELLING.fullmatch(text)
    if not found:
        raise UsageError(f"got cache {text!r}, expected NAME=SIZE/LINE or NAME=SIZE/LINE/WAYS", hint="For example l1=32K/64/8.")
    size = int(found["size"]) * _UNITS[found["unit"]]
    cache = CacheLevel(found["name"], size, int(found["line"]), int(found["ways"] or 0))
    part, what = cache.line_bytes * (cache.set_size if cache.ways else 1), "sets" if cache.ways else "lines"
    if size % part:
        whole = " or ".join(f"{n * part:,}" for n in (size // part, size // part + 1) if n)
        got = f"got cache {text!r}, which has {size / part:.4g} {what} of {part:,} bytes, expected a whole number of them"
        raise UsageError(got, hint=f"Capacities next to it: {whole} bytes; or check line and ways.")
    return cache
