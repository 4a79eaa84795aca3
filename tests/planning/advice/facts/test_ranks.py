"""Arrivals at exchanges: see `test_advise` for who is named."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from made_recordings import MS, Made

from mlperf.planning.advice.facts.ranks import rank_facts
from mlperf.traces.events.kinds import Kind
from mlperf.traces.whole_run.steps import find_steps


def ranks(made: Callable[[], Made], work_ms: list[list[int]], *, marked: bool = True) -> Made:
    maker, at = made(), 0
    for step in work_ms:
        for rank, work in enumerate(step):
            parts = {"forward": work * MS, "allreduce" if marked else "rest": (max(step) - work + 2) * MS}
            maker.marks(at, parts, rank=rank)
            if not marked:
                maker.add(Kind.COLL, at + work * MS, (max(step) - work + 2) * MS, "Allreduce", rank=rank, pid=10 + rank, tid=1)
        at += (max(step) + 2) * MS
    return maker


def test_work_before_the_exchange(made: Callable[[], Made]) -> None:
    for marked in (True, False):
        maker = ranks(made, [[10, 10, 30]] * 6, marked=marked)
        found = rank_facts(maker.recording(), find_steps(maker.recording(), marker="step"))
        assert found is not None
        np.testing.assert_allclose(found.work_s, [[0.01, 0.01, 0.03]] * 5)
        np.testing.assert_allclose(found.balanced_s, 0.02)
        np.testing.assert_allclose(found.step_s, 0.032)
        assert found.culprits.leader == 2


def test_one_rank_or_no_exchange_tells_nothing(made: Callable[[], Made]) -> None:
    alone = ranks(made, [[10]] * 4)
    assert rank_facts(alone.recording(), find_steps(alone.recording())) is None
    silent, at = made(), 0
    for _ in range(4):
        for rank in (0, 1):
            silent.marks(at, {"forward": 10 * MS}, rank=rank)
        at += 10 * MS
    assert rank_facts(silent.recording(), find_steps(silent.recording())) is None


def test_an_exchange_that_nobody_marks_is_where_ranks_wait(made: Callable[[], Made]) -> None:
    """Gradients are summed inside backward, as frameworks do: whoever comes first stays longest."""
    maker, at = made(), 0
    for step in range(8):
        work = [10, 10, 30] if step % 2 else [10, 31, 10]
        for rank, forward in enumerate(work):
            maker.marks(at, {"forward": forward * MS, "backward": (max(work) - forward + 40) * MS, "update": 5 * MS}, rank=rank)
        at += (max(work) + 45) * MS
    found = rank_facts(maker.recording(), find_steps(maker.recording(), marker="step"))
    assert found is not None
    np.testing.assert_allclose(found.work_s.max(axis=1), [0.03, 0.031] * 3 + [0.03])
    np.testing.assert_allclose(found.balanced_s, [0.02, 0.021] * 3 + [0.02])


def test_ranks_that_end_apart_do_not_wait_for_each_other(made: Callable[[], Made]) -> None:
    maker = made()
    for rank in (0, 1):
        at = 0
        for _ in range(6):
            at = maker.marks(at, {"forward": (10 + 5 * rank) * MS, "backward": 20 * MS}, rank=rank)
    assert rank_facts(maker.recording(), find_steps(maker.recording(), marker="step")) is None
