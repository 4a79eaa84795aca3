"""What is said about a domino, against a replay of the design's example."""

from __future__ import annotations

import numpy as np
from message_programs import protocol_timing
from replayed_programs import MESSAGES_X, PROGRAM_X, table_of_calls

from mlperf.systems.loggps.presets import find_preset
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.replay import Timing, replay
from mlperf.traces.whatif.domino import domino_search
from mlperf.traces.whatif.domino_facts import dominoes
from mlperf.traces.whatif.sweep import sweep


def test_the_domino_of_program_x() -> None:
    preset = find_preset("perwiz-myrinet")
    table = table_of_calls(PROGRAM_X, MESSAGES_X)
    table = table.replace(site=np.array([*range(12)], dtype=np.int32), strings=tuple(f"x.c:{line}" for line in range(12)))
    swept = sweep(replay(table, Timing(preset, preset.parameters())))
    (domino,) = dominoes(swept, domino_search(swept).paths[0])
    assert (domino.rank, domino.partner_rank, domino.kind, domino.size_bytes) == (0, 2, "send", 65536)
    assert (domino.site, domino.partner_site) == ("x.c:1", "x.c:10")
    assert (domino.wait_ns, domino.total_ns, domino.saved_ns) == (544_357, 792_699, 541_120)
    # The receive of m5 loses its 541 120, and the run with it. Rank 0 is now too early for m4, called for at 449 447 and there at
    # 519 987 + 42 060; the send of m5, now at 608 440, is too early for its receive at 622 937 by more than d.
    assert domino.other_waits_ns == -541_120 + (519_987 + 42_060 - 449_447) + (622_937 - 608_440 - 11_260)


def test_a_posted_message_and_its_wait_are_one_wait() -> None:
    """Nothing else waits, so no other wait falls."""
    columns = {"start_ns": [0, 500, 90_000], "duration_ns": [100, 99_500, 150], "rank": [0, 0, 1], "peer": [1, -1, 0]}
    kinds = [Kind.IRECV, Kind.WAIT, Kind.SEND]
    table = event_table(3, kind=kinds, corr=[0, 0, -1], match=[2, -1, 0], size_bytes=[10, 0, 10], **columns)
    swept = sweep(replay(table, protocol_timing()))
    (domino,) = dominoes(swept, domino_search(swept).paths[0])
    assert (domino.kind, domino.other_waits_ns) == ("irecv", 0)
    assert domino.wait_ns > 80_000
