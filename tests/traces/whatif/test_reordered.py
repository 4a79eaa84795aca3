"""Blocks of calls in another order, beside programs written down in that order."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from replayed_programs import table_of_calls

from mlperf.core.errors import UsageError
from mlperf.systems.loggps.presets import find_preset
from mlperf.traces.replay.run import replay
from mlperf.traces.replay.timing import Timing
from mlperf.traces.whatif.reordered import reordered

MYRINET = Timing(find_preset("perwiz-myrinet"), find_preset("perwiz-myrinet").parameters())


def program(order: list[int], seed: int) -> tuple[Any, Any]:
    """Each block is a message between two of four ranks, in both directions or one, with computation before it."""
    rng = random.Random(seed)
    blocks = [(*rng.sample(range(4), 2), rng.choice((100, 20_000)), rng.randrange(10**5), rng.randrange(10**5)) for _ in order]
    ranks: list[list[list[Any]]] = [[] for _ in range(4)]
    for block in order:
        sender, receiver, _, sender_ns, receiver_ns = blocks[block]
        ranks[sender].append([sender_ns, "send", block])
        ranks[receiver].append([receiver_ns, "recv", block])
    return ranks, [(sender, receiver, size) for sender, receiver, size, _, _ in blocks]


@pytest.mark.parametrize("seed", range(25))
def test_the_same_as_a_program_of_that_order(seed: int) -> None:
    order = list(range(12))
    other = random.Random(seed + 1000).sample(order, len(order))
    run = replay(table_of_calls(*program(order, seed)), MYRINET)
    expected = replay(table_of_calls(*program(other, seed)), MYRINET)
    calls = run.program.calls
    blocks = run.program.table.tag[calls.rows[calls.event]].astype(np.int64)
    assert reordered(run, blocks, order).total_ns == run.total_ns
    assert reordered(run, blocks, other).total_ns == expected.total_ns
    assert reordered(run, blocks, other).rank_end_ns.tolist() == expected.rank_end_ns.tolist()


def test_every_block_is_named_once() -> None:
    run = replay(table_of_calls(*program([0, 1, 2], 0)), MYRINET)
    calls = run.program.calls
    blocks = run.program.table.tag[calls.rows[calls.event]].astype(np.int64)
    for order in ([0, 1], [0, 1, 1], [0, 1, 2, 3]):
        with pytest.raises(UsageError, match="each of the 3 blocks once"):
            reordered(run, blocks, order)
