"""The kinds of operations against the words of the published rules."""

from __future__ import annotations

from mlperf.traces.ranks.operations import CHAINS, OPERATION_KINDS, TAIL


def test_who_takes_part() -> None:
    members = {name: kind.members for name, kind in OPERATION_KINDS.items()}
    assert {name for name, who in members.items() if who == "data"} == {"params-all-gather", "grads-reduce-scatter"}
    assert {name for name, who in members.items() if who == "all"} == {"optimizer-clip-main-grad"}
    assert {name for name, who in members.items() if who == "ends"} == {"embedding-grads-all-reduce"}
    # It counts as local, with a median as all communication.
    norm = OPERATION_KINDS["layernorm-grads-all-reduce"]
    assert norm.is_communication
    assert not norm.is_exchange


def test_directions_are_taken_together_and_chains_hold_known_operations() -> None:
    assert {kind.type for kind in OPERATION_KINDS.values() if kind.members == "pair"} == {"forward-pp-comm", "backward-pp-comm"}
    assert {name for chain in CHAINS for name in chain} < set(OPERATION_KINDS)
    assert TAIL[0] == "gc"
    assert TAIL[-1] == "optimizer"
