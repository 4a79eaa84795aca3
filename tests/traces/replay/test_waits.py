"""Waits of single messages by hand; those of random programs are compared in the sweep's tests."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.systems.loggps.costs import Cost, Preset
from mlperf.systems.loggps.parameters import LogGPS
from mlperf.systems.loggps.presets import find_preset
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.table import EventTable, event_table
from mlperf.traces.replay import Replay, Timing, replay
from mlperf.traces.whatif.sweep import sweep

US = 1e-6
REQUEST = Cost(multiples={"latency_s": (1.0, 0.0), "overhead_s": (1.0, 0.0)})
FIXED = Preset("fixed", "the two ranks of the design", Cost(), Cost(), Cost(), Cost(30 * US), Cost(90 * US), REQUEST)


def two_ranks(t_u: int, t_v: int, size: int, timing: Timing) -> Replay:
    kinds = [Kind.SEND, Kind.RECV]
    columns = {"start_ns": [t_u, t_v], "rank": [0, 1], "peer": [1, 0], "kind": kinds, "match": [1, 0]}
    return replay(event_table(2, size_bytes=size, flags=Flag.ASSUMED_TIME, **columns), timing)


SYNC = Timing(FIXED, LogGPS(9.11 * US, 2.15 * US, eager_limit_bytes=1))


@pytest.mark.parametrize(
    ("t_u", "t_v", "waits", "ends", "moved", "zeroed"),
    [
        (0, 50_000, [38_740, 0], [68_740, 140_000], (1, 11_260), [30_000, 101_260]),
        (50_000, 0, [0, 61_260], [80_000, 151_260], (0, -11_260), [18_740, 90_000]),
    ],
)
def test_two_ranks_of_the_design(
    t_u: int, t_v: int, waits: list[int], ends: list[int], moved: tuple[int, int], zeroed: list[int]
) -> None:
    """A moved start may lie before 0: suppose the partner had called in time."""
    run = two_ranks(t_u, t_v, 100, SYNC)
    found = run.waits
    event = int(np.argmax(waits))
    assert found.wait_ns.tolist() == waits
    assert run.end_ns.tolist() == ends
    assert (found.zero_call[event], found.zero_ns[event]) == moved
    again = run.again(fixed=([run.graph.start_node[moved[0]]], [moved[1]]))
    assert again.end_ns.tolist() == zeroed
    assert again.waits.wait_ns.tolist() == [0, 0]
    assert sweep(run).wait_zero_ns[event] == max(zeroed)


def test_an_eager_message_of_the_design() -> None:
    preset = find_preset("perwiz-myrinet")
    run = two_ranks(0, 5000, 1000, Timing(preset, preset.parameters()))
    assert run.waits.wait_ns.tolist() == [0, 8140]
    assert run.waits.partner.tolist() == [1, 0]
    assert run.end_ns.tolist() == [4030, 16_227]


def collective(name: str, root: int) -> EventTable:
    """Ranks 0, 1, 2 come at 100, 300, 200."""
    columns = {"start_ns": [100, 300, 200], "duration_ns": [250, 50, 150], "rank": [0, 1, 2]}
    return event_table(3, kind=Kind.COLL, corr=1, peer=root, name=0, strings=[name], **columns)


@pytest.mark.parametrize(
    ("name", "root", "waits", "partners"),
    [
        ("MPI_Allreduce", -1, [200, 0, 100], [1, -1, 1]),
        ("MPI_Bcast", 2, [100, 0, 0], [2, 2, -1]),
        ("MPI_Reduce", 2, [0, 0, 100], [-1, -1, 1]),
        ("MPI_Reduce", 1, [0, 0, 0], [-1, -1, -1]),
        ("MPI_Scan", -1, [200, 0, 100], [1, -1, 1]),
    ],
)
def test_members_wait_for_the_last_or_the_root(name: str, root: int, waits: list[int], partners: list[int]) -> None:
    run = replay(collective(name, root), SYNC)
    assert run.waits.wait_ns.tolist() == waits
    assert run.waits.partner.tolist() == partners
    assert run.end_ns.tolist() == [350, 350, 350]


@pytest.mark.parametrize(
    ("comms", "ends", "waits", "partners"),
    [
        ({}, [110, 310, 310], [0, 0, 100], [-1, -1, 1]),
        ({}, [310, 310, 310], [200, 0, 100], [1, -1, 1]),
        ({7: [2, 1, 0]}, [310, 310, 210], [200, 0, 0], [1, -1, -1]),
    ],
)
def test_partial_sums_wait_for_lower_ranks_where_the_recording_shows_it(
    comms: dict[int, list[int]], ends: list[int], waits: list[int], partners: list[int]
) -> None:
    """Rank 0 that leaves before rank 1 has come has not waited for it; in the last case ranks stand the other way round."""
    starts = np.array([100, 300, 200])
    columns = {"start_ns": starts, "duration_ns": np.array(ends) - starts, "rank": [0, 1, 2], "comm": 7}
    table = event_table(3, kind=Kind.COLL, corr=1, name=0, strings=["MPI_Exscan"], attributes={"reordered_comms": comms}, **columns)
    run = replay(table, SYNC)
    assert run.waits.wait_ns.tolist() == waits
    assert run.waits.partner.tolist() == partners
    assert run.end_ns.tolist() == ends
    assert run.splits.n_negative == 0
