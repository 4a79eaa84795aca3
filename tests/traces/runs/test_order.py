"""Both commands stand at the same mean place in every block."""

from __future__ import annotations

from mlperf.traces.runs.order import RUNS_A_BLOCK, block_orders


def test_blocks_are_balanced_and_drawn() -> None:
    found = block_orders(200, 3)
    assert set(found) == {"ABBA", "BAAB"}
    assert 60 < sum(order == "ABBA" for order in found) < 140
    for order in set(found):
        assert len(order) == RUNS_A_BLOCK
        places = {name: [at for at, each in enumerate(order) if each == name] for name in "AB"}
        assert sum(places["A"]) == sum(places["B"])
    assert found == block_orders(200, 3)
    assert found != block_orders(200, 4)
    assert block_orders(0, 1) == ()
