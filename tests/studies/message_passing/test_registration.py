"""Which control point is moved, where to, and what is predicted of it."""

from __future__ import annotations

import pytest
from replayed_programs import table_of_calls

from mlperf.studies.message_passing.registration import DOMINO, LONGEST, computed_ns, new_place, next_edit, points_of
from mlperf.systems.loggps.presets import find_preset
from mlperf.traces.replay.run import replay
from mlperf.traces.replay.timing import Timing

MS = 1_000_000
MYRINET = Timing(find_preset("perwiz-myrinet"), find_preset("perwiz-myrinet").parameters())
POINTS = ((0, 1, 5, 1), (0, 1, 5, 1), (0, 1, 5, 1), (1, 2, 1, 1), (2, 0, 40, 1))
"""Two ranks of each point, and what either computes, ms. Rank 2 waits at point 3 behind three points of rank 1, then works on 4."""


def run_in(order: tuple[int, ...]) -> object:
    ranks: list[list[list[object]]] = [[], [], []]
    for point in order:
        sender, receiver, sender_ms, receiver_ms = POINTS[point]
        ranks[sender].append([sender_ms * MS, "send", point])
        ranks[receiver].append([receiver_ms * MS, "recv", point])
    return replay(table_of_calls(ranks, [(sender, receiver, 100_000) for sender, receiver, _, _ in POINTS[: len(order)]]), MYRINET)


@pytest.mark.parametrize(
    ("partner_ms", "wait_ms", "place"),
    [({0: 5, 1: 5, 2: 5}, 4, 2), ({0: 5, 1: 5, 2: 5}, 11, 1), ({0: 5, 1: 5, 2: 5}, 99, 0), ({0: 5}, 1, 0), ({}, 9, 3)],
)
def test_a_point_passes_what_the_partner_computes_within_the_wait(partner_ms: dict[int, int], wait_ms: int, place: int) -> None:
    assert new_place((0, 1, 2, 3), 3, partner_ms, wait_ms) == place


@pytest.mark.parametrize("strategy", [DOMINO, LONGEST])
def test_the_prediction_is_the_program_in_its_new_order(strategy: str) -> None:
    order = (0, 1, 2, 3, 4)
    edit = next_edit(run_in(order), order, strategy)  # type: ignore[arg-type]
    assert edit is not None
    assert sorted(edit.order) == list(order)
    assert edit.predicted_s == pytest.approx(run_in(edit.order).total_ns * 1e-9, abs=0)  # type: ignore[attr-defined]


def test_the_longest_wait_is_that_of_the_last_point() -> None:
    edit = next_edit(run_in((0, 1, 2, 3)), (0, 1, 2, 3), LONGEST)  # type: ignore[arg-type]
    assert edit is not None
    assert (edit.point, edit.rank, edit.partner) == (3, 2, 1)
    # 15 ms of rank 0 come before it, and three messages of about half a millisecond.
    assert edit.wait_s == pytest.approx(0.0164, abs=0.0005)


def test_computing_times_are_by_point() -> None:
    run = run_in((0, 1, 2, 3))
    assert computed_ns(run, points_of(run), 1) == {0: MS, 1: MS, 2: MS, 3: MS}  # type: ignore[arg-type]
