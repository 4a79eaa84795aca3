"""The ring in use against the best one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.core.shown import Shown
from mlperf.systems.base.collectives import ring_s
from mlperf.traces.links.matrix import CommMatrix
from mlperf.traces.links.places import as_places
from mlperf.traces.links.ring import Ring, best_ring, ring_of
from mlperf.traces.links.topology import Links
from mlperf.traces.links.used_ring import HOST, UsedRing, bandwidth_of, used_ring

COLUMNS = ("ring", "sender", "receiver", "bytes_per_s", "through")
SEARCH_NOTE = "libraries that search rings themselves (NCCL) may not follow the order of devices"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rings(Shown):
    """Rings through the devices of a machine.

    Attributes
    ----------
    source : str
    used : tuple of str
        Devices of the ring in use, as they follow; empty where the traffic shows none, or was not given.
    detours : tuple of str
        Its steps that go through the host: ``"GPU4 -> HOST -> GPU5"``.
    used_bytes_per_s : float
        Its weakest link as measured, NaN where not known.
    used_alike_bytes_per_s : float
        Its weakest link by the same table that the best ring's are taken from; as measured where that does not tell all of them.
    weakest : str
        The weakest link as measured.
    best : tuple of str
        The best ring; empty where links are not known or close none.
    best_bytes_per_s : float
        Its weakest link.
    is_exact : bool
        No ring has a faster weakest link.
    size_bytes : float
        What is summed over the devices.
    used_s, best_s : float
        All-reduce over either ring, ``2 (n - 1) / n`` sizes at the weakest link, both by one table where it tells both.
    links : DataFrame
        One row a link of either ring: ``ring, sender, receiver, bytes_per_s, through``; ``bytes_per_s`` is as measured in the ring
        in use and by the table in the best one, ``table_bytes_per_s`` by the table in both (NaN: it does not tell).
    order : str
        ``CUDA_VISIBLE_DEVICES`` that makes devices follow as the best ring does.
    notes : tuple of str

    References
    ----------
    SOFA, figures 7 to 9.
    """

    source: str
    used: tuple[str, ...]
    detours: tuple[str, ...]
    used_bytes_per_s: float
    used_alike_bytes_per_s: float
    weakest: str
    best: tuple[str, ...]
    best_bytes_per_s: float
    is_exact: bool
    size_bytes: float
    used_s: float
    best_s: float
    links: pd.DataFrame
    order: str
    notes: tuple[str, ...]

    @property
    def saved_share(self) -> float:
        """Share of an all-reduce that the best ring saves; NaN where either is not known."""
        return 1 - self.best_s / self.used_s if self.used_s > 0 else float("nan")

    @property
    def is_best(self) -> bool:
        """Whether the ring in use goes over the same links as the best one, either way round."""
        used, best = ({frozenset(pair) for pair in pairwise((*order, *order[:1]))} for order in (self.used, self.best))
        return bool(used) and used == best


def compare_rings(matrix: CommMatrix | None, links: Links | None, size_bytes: float | None = None) -> Rings:
    """Find the ring in use in the traffic, and the best one over the links.

    Parameters
    ----------
    matrix : CommMatrix, optional
        Traffic of the run; its measured bandwidths are taken where it shows any.
    links : Links, optional
        All links of the machine; without it the best ring is not known.
    size_bytes : float, optional
        What is summed; without it what the traffic's ring passed on.

    Raises
    ------
    DataError
        Neither is given, or devices have different names.
    """
    if matrix is None and links is None:
        raise DataError("got neither traffic nor links, expected one")
    matrix = None if matrix is None else as_places(matrix, links)
    used = used_ring(matrix) if matrix is not None else UsedRing((), (), 0.0, "no traffic is given")
    notes = [] if matrix is None else [*matrix.notes, *([used.why] if used.why else [])]
    rows = _used_links(matrix, used) if matrix is not None else []
    slowest = min(rows, key=lambda row: row[3], default=None)
    used_rate = slowest[3] if slowest else float("nan")
    scaled = _scaled(matrix, links, notes)
    names, rates = _between_devices(scaled)
    best = _best(rates, notes) if links is not None else None
    by_table = _by_table(scaled, rows)
    alike = used_rate if np.isnan(by_table).any() or not rows else float(by_table.min())
    n = len(names) or len(used.order)
    size = size_bytes if size_bytes is not None else used.ring_bytes * n / (2 * (n - 1)) if n > 1 else 0.0
    best_rate = best.bottleneck if best else float("nan")
    best_order = tuple(names[place] for place in best.order) if best else ()
    if best:
        pairs = pairwise((*best.order, best.order[0]))
        rows += [("best", names[one], names[other], float(min(rates[one, other], rates[other, one])), "") for one, other in pairs]
        by_table = np.concatenate((by_table, [row[3] for row in rows[len(by_table) :]]))
        notes.append(SEARCH_NOTE)
    return Rings(
        source=matrix.source if matrix is not None else "links",
        used=used.order,
        detours=tuple(str(each) for each in used.detours),
        used_bytes_per_s=used_rate,
        used_alike_bytes_per_s=alike,
        weakest=f"{slowest[1]} -> {slowest[2]}{' through the host' if slowest[4] else ''}" if slowest else "",
        best=best_order,
        best_bytes_per_s=best_rate,
        is_exact=bool(best and best.is_exact),
        size_bytes=size,
        used_s=_allreduce_s(n, size, alike),
        best_s=_allreduce_s(n, size, best_rate),
        links=pd.DataFrame(rows, columns=COLUMNS).assign(table_bytes_per_s=by_table),
        order=_device_order(best_order, names),
        notes=tuple(notes),
    )


def _used_links(matrix: CommMatrix, used: UsedRing) -> list[tuple[str, str, str, float, str]]:
    """Links of the ring in use with the bandwidth measured; through the host, the slower of the two ways."""
    rates = matrix.bytes_per_s
    at = {name: place for place, name in enumerate(matrix.places)}
    through = {(each.sender, each.receiver) for each in used.detours}
    found = []
    for one, other in pairwise((*used.order, *used.order[:1])):
        if (one, other) in through:
            rate = float(np.nanmin([rates[at[one], at[HOST]], rates[at[HOST], at[other]]]))
            found.append(("used", one, other, rate, HOST))
        else:
            found.append(("used", one, other, float(rates[at[one], at[other]]), ""))
    return found


def _scaled(matrix: CommMatrix | None, links: Links | None, notes: list[str]) -> Links:
    """The links under the traffic's names, in proportion to what the traffic measured of its own; nothing without links."""
    if links is None:
        notes.append("links that carried nothing are not known: give them by --links for the best ring")
        return Links((), np.zeros((0, 0)))
    if matrix is None:
        return links
    own = [name for name in links.places if name != HOST]
    devices = tuple(name for name in matrix.places if name != HOST)
    if len(devices) != len(own):
        raise DataError(f"the traffic has {len(devices)} devices, the links {len(own)}", place=matrix.source)
    order = own if set(own) != set(devices) else devices
    at = [links.places.index(name) for name in (*order, *[name for name in links.places if name == HOST])]
    rates = links.bytes_per_s.astype(float)[np.ix_(at, at)]
    measured, between = bandwidth_of(matrix), rates[: len(devices), : len(devices)]
    known = (measured > 0) & (between > 0)
    if known.any():
        # Words of a topology tell an order; the run tells how fast the links are that it used.
        rates = rates * float(np.median(measured[known] / between[known]))
        notes.append("bandwidths of unused links are those of used ones in proportion to what the topology says")
    return Links((*devices, *[HOST] * (len(at) - len(devices))), rates)


def _between_devices(links: Links) -> tuple[tuple[str, ...], FloatArray]:
    """Names and bandwidths without the host."""
    at = [place for place, name in enumerate(links.places) if name != HOST]
    return tuple(links.places[place] for place in at), links.bytes_per_s[np.ix_(at, at)].astype(float)


def _best(rates: FloatArray, notes: list[str]) -> Ring | None:
    """The best ring over the links between devices."""
    found = best_ring(rates)
    if found is None:
        notes.append("the links close no ring through all devices")
        return None
    return ring_of(found.order, np.minimum(rates, rates.T), found.is_exact)


def _by_table(links: Links, rows: list[tuple[str, str, str, float, str]]) -> FloatArray:
    """Bandwidth of links in use by a table, through the host the slower of the two ways; NaN where it does not tell."""
    at = {name: place for place, name in enumerate(links.places)}
    found = []
    for _, one, other, _, through in rows:
        hops = ((one, HOST), (HOST, other)) if through else ((one, other),)
        told = [float(links.bytes_per_s[at[hop[0]], at[hop[1]]]) if set(hop) <= set(at) else 0.0 for hop in hops]
        found.append(min(told) if min(told) > 0 else float("nan"))
    return np.array(found, dtype=float)


def _allreduce_s(n: int, size: float, rate: float) -> float:
    """Ring all-reduce at its weakest link, latency left out."""
    if n < 2 or not rate > 0:
        return float("nan")
    return float(ring_s(np.array(size), np.array(float(n)), 0.0, rate))


def _device_order(order: tuple[str, ...], names: tuple[str, ...]) -> str:
    """Numbers of devices for ``CUDA_VISIBLE_DEVICES``: those in the names, from 0; without different ones the devices' turns."""
    numbers = [int("".join(letter for letter in name if letter.isdigit()) or -1) for name in order]
    if min(numbers, default=-1) < 0 or len(set(numbers)) < len(numbers):
        numbers = [names.index(name) for name in order]
    return ",".join(str(number - min(numbers)) for number in numbers)
