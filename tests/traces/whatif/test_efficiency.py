"""POP's factors by hand, and their identity."""

from __future__ import annotations

import pytest
from stepped_programs import BALANCED, binary_swap, myrinet

from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.replay import replay
from mlperf.traces.whatif.efficiency import efficiency
from mlperf.traces.whatif.load import load_run


def test_factors_by_hand() -> None:
    """Rank 0 computes 100, sends for 20; rank 1 waits for it from 10 on, receives for 30 and computes 50 more.

    Useful are 100 and 60; on a network of no time rank 1 goes on at 100 and ends at 150.
    """
    table = event_table(
        3,
        start_ns=[100, 10, 130],
        duration_ns=[20, 120, 50],
        rank=[0, 1, 1],
        kind=[Kind.SEND, Kind.RECV, Kind.COMPUTE],
        peer=[1, 0, -1],
        match=[1, 0, -1],
        size_bytes=[5, 5, 0],
    )
    found = efficiency(load_run(table))
    assert found.load_balance == pytest.approx(80 / 100)
    assert found.serialisation == pytest.approx(100 / 150)
    assert found.transfer == pytest.approx(150 / 180)
    assert found.parallel == pytest.approx(80 / 180)


@pytest.mark.parametrize("work", [BALANCED, None])
def test_the_product_is_the_whole(work: tuple[tuple[int, ...], ...] | None) -> None:
    found = efficiency(replay(binary_swap(work) if work else binary_swap(), myrinet()))
    assert found.parallel == pytest.approx(found.load_balance * found.communication)
    assert found.communication == pytest.approx(found.serialisation * found.transfer)
    assert all(0 < each <= 1 for each in (found.load_balance, found.serialisation, found.transfer))
    assert (found.load_balance == pytest.approx(1.0)) == (work is BALANCED)
