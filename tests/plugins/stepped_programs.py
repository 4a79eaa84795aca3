"""A binary swap of eight ranks in three marked steps, every step an exchange between two halves of the computation."""

from __future__ import annotations

import numpy as np

from mlperf.systems.loggps.presets import find_preset
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.matching import match_messages
from mlperf.traces.events.table import EventTable, event_table
from mlperf.traces.readers.alog import number_regions
from mlperf.traces.replay import Timing, as_table, replay

N_RANKS, N_STEPS = 8, 3
UNBALANCED = (
    (900, 700, 800, 900, 700, 900, 800, 900),
    (300, 1900, 200, 400, 300, 350, 280, 500),
    (200, 220, 260, 240, 150, 170, 210, 230),
)
"""Computation of every rank in every step, microseconds."""
BALANCED = ((800,) * 8, (500,) * 8, (210,) * 8)
SIZES = (20_000, 10_000, 5_000)


def myrinet() -> Timing:
    """The preset of the PerWiz paper."""
    preset = find_preset("perwiz-myrinet")
    return Timing(preset, preset.parameters())


def binary_swap(work_us: tuple[tuple[int, ...], ...] = UNBALANCED) -> EventTable:
    """The run as recorded on the paper's network: in step k rank p exchanges with p XOR 2^k."""
    rows, now = [], np.zeros(N_RANKS, dtype=np.int64)
    for step in range(N_STEPS):
        for rank in range(N_RANKS):
            half = work_us[step][rank] * 500
            begin, middle = int(now[rank]), int(now[rank]) + half
            peer, pair = rank ^ (1 << step), 10 * step + rank
            flags = int(Flag.PAIRED | Flag.ASSUMED_TIME)
            rows.append((middle, 0, rank, int(Kind.SEND), 0, SIZES[step], peer, step, pair, flags))
            rows.append((middle, 0, rank, int(Kind.RECV), 0, SIZES[step], peer, step, pair, flags))
            rows.append((begin, 2 * half, rank, int(Kind.REGION), 1, 0, -1, -1, -1, 0))
            now[rank] = middle + half
    names = ("start_ns", "duration_ns", "rank", "kind", "name", "size_bytes", "peer", "tag", "corr", "flags")
    columns = dict(zip(names, np.array(rows).T, strict=True))
    table = event_table(len(rows), strings=("MPI_Sendrecv", "PRGN"), comm=0, sources=("a binary swap",), **columns)
    run = as_table(replay(match_messages(table), myrinet()))
    recorded = run.replace(flags=run.flags & ~np.uint16(Flag.ASSUMED_TIME), notes=())
    return match_messages(number_regions(recorded.by_rank()))


def exchange(sizes: tuple[int, int]) -> EventTable:
    """Two ranks that exchange a message each in one call, recorded on the paper's network."""
    rows = [
        (
            0,
            0,
            rank,
            int(kind),
            0,
            sizes[rank if kind is Kind.SEND else 1 - rank],
            1 - rank,
            0,
            rank,
            int(Flag.PAIRED | Flag.ASSUMED_TIME),
        )
        for rank in (0, 1)
        for kind in (Kind.SEND, Kind.RECV)
    ]
    names = ("start_ns", "duration_ns", "rank", "kind", "name", "size_bytes", "peer", "tag", "corr", "flags")
    columns = dict(zip(names, np.array(rows).T, strict=True))
    table = match_messages(event_table(len(rows), strings=("MPI_Sendrecv",), comm=0, sources=("an exchange",), **columns))
    run = as_table(replay(table, myrinet()))
    return match_messages(run.replace(flags=run.flags & ~np.uint16(Flag.ASSUMED_TIME), notes=()).by_rank())
