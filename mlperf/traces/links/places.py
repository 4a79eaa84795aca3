"""Ranks as places of a machine: by the names in a table of links, or by which of them only passes on what it gets."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from mlperf.traces.links.matrix import CommMatrix
from mlperf.traces.links.topology import Links
from mlperf.traces.links.used_ring import HOST, LEAST, used_ring

RANK = re.compile(r"rank (\d+)")
MOST_RELAYS = 3
"""Ranks that are tried as the host; traffic with more ranks that talk to several is no ring through one."""


def as_places(matrix: CommMatrix, links: Links | None = None) -> CommMatrix:
    """A matrix between ranks with the names of the machine's places.

    Parameters
    ----------
    matrix : CommMatrix
        Between ranks; any other is left as it is.
    links : Links, optional
        Table with a place for each rank, in the order of ranks, the host among them.

    Returns
    -------
    CommMatrix
        With the table's names; without such a table the one rank whose traffic closes a ring if it is the host is called so, with a
        note.
    """
    ranks = [int(found[1]) for found in map(RANK.fullmatch, matrix.places) if found]
    if len(ranks) < len(matrix.places) or not ranks:
        return matrix
    if links is not None and HOST in links.places and max(ranks) < len(links.places):
        return replace(matrix, places=tuple(links.places[rank] for rank in ranks))
    if links is not None and len(links.places) == len(ranks):
        return matrix
    relays = _relays(matrix)
    if len(relays) != 1:
        return matrix
    note = f"{matrix.places[relays[0]]} passes on what it gets: taken as the host"
    return replace(_with_host(matrix, relays[0]), notes=(*matrix.notes, note))


def _relays(matrix: CommMatrix) -> list[int]:
    """Places without which the traffic is a ring, none where it is one with all of them."""
    sent = matrix.comm_matrix_bytes
    if not sent.any() or used_ring(matrix).order:
        return []
    large = sent >= LEAST * sent.max()
    several = np.flatnonzero((large.sum(axis=0) > 1) | (large.sum(axis=1) > 1))
    if len(several) > MOST_RELAYS:
        return []
    return [int(place) for place in several if used_ring(_with_host(matrix, int(place))).order]


def _with_host(matrix: CommMatrix, place: int) -> CommMatrix:
    """The matrix with one place called the host."""
    return replace(matrix, places=(*matrix.places[:place], HOST, *matrix.places[place + 1 :]))
