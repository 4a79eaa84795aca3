"""Advice on made recordings: the cause that was made is named first with the gain that its removal has; a clean run gets none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from made_recordings import MS, Made

from mlperf.planning.advice.advise import advise
from mlperf.planning.advice.findings import (
    BAD_STEPS,
    CAUSES,
    INCONCLUSIVE,
    INPUT,
    LOCK,
    MEMORY,
    NAMED,
    PAUSE,
    ROTATING_RANK,
    SLOW_RANK,
    Finding,
)
from mlperf.planning.advice.sentences import seen, to_do
from mlperf.traces.events.kinds import Kind

PHASES = {"load": 1, "forward": 40, "backward": 40, "update": 10}
PEAK = 20e9


def run(made: Callable[[], Made], n_steps: int = 30, **changes: int) -> Made:
    """Steps of the usual phases, some of another length, milliseconds."""
    maker, at, rng = made(), 0, np.random.default_rng(0)
    for _ in range(n_steps):
        parts = {name: int(changes.get(name, length) * MS * rng.uniform(0.99, 1.01)) for name, length in PHASES.items()}
        at = maker.marks(at, parts, sizes={"update": int(0.5 * PEAK * 0.010)})
    maker.samples(0, at, "gemm", every_ns=10 * MS)
    return maker


def first(maker: Made) -> Finding | None:
    found = advise(maker.recording(memory_one_core_bytes_per_s=PEAK))
    return found.findings[0] if found.findings else None


def test_a_clean_run_gets_no_hint(made: Callable[[], Made]) -> None:
    found = advise(run(made).recording(memory_one_core_bytes_per_s=PEAK))
    assert found.findings == ()
    assert found.hints.empty
    assert found.looked_at["subject"].tolist() == ["input", "ranks", "locks", "memory", "vector instructions", "pauses", "ring"]


def test_waiting_for_input(made: Callable[[], Made]) -> None:
    maker = run(made, load=31)
    found = first(maker)
    assert found is not None
    assert (found.cause, found.verdict, found.subject) == (INPUT, NAMED, "load")
    assert found.gain is not None
    # The input waits 31 ms of 121; none of it is needed.
    assert found.gain.share == pytest.approx(31 / 121, abs=0.005)
    assert found.gain.lower_share < 31 / 121 < found.gain.upper_s / found.gain.step_s


def test_a_phase_far_below_the_memorys_peak(made: Callable[[], Made]) -> None:
    found = first(run(made, update=50))
    assert found is not None
    assert (found.cause, found.subject) == (MEMORY, "update")
    assert found.gain is not None
    # One pass takes between 5 ms, the peak, and 10 ms.
    assert found.gain.lower_s <= 0.040 <= 0.045 <= found.gain.upper_s
    assert found.gain.saved_s == pytest.approx(0.0425, abs=0.001)


def test_without_a_measured_peak_memory_is_inconclusive(made: Callable[[], Made]) -> None:
    found = advise(run(made, update=50).recording())
    assert [(each.cause, each.verdict) for each in found.findings] == [(MEMORY, INCONCLUSIVE)]
    assert "nobody measured" in found.hints["why"][0]


def several_ranks(made: Callable[[], Made], late_ms: Callable[[int, int], float], n_ranks: int = 4, n_steps: int = 40) -> Made:
    maker, at, rng = made(), 0, np.random.default_rng(1)
    for step in range(n_steps):
        work = [int((50 + late_ms(step, rank) + rng.uniform(0, 0.5)) * MS) for rank in range(n_ranks)]
        for rank in range(n_ranks):
            maker.marks(at, {"forward": work[rank], "allreduce": max(work) - work[rank] + 5 * MS}, rank=rank)
        at += max(work) + 5 * MS + MS
    return maker


@pytest.mark.parametrize(
    ("late_ms", "cause", "saved_ms"),
    [
        (lambda _step, rank: 20.0 * (rank == 2), SLOW_RANK, 20.0),
        (lambda step, rank: 20.0 * (rank == step % 4), ROTATING_RANK, 20.0),
        (lambda step, rank: 200.0 * (rank == step % 3 and step % 5 == 2), BAD_STEPS, 1600 / 39),
    ],
)
def test_late_ranks(made: Callable[[], Made], late_ms, cause: str, saved_ms: float) -> None:
    found = first(several_ranks(made, late_ms))
    assert found is not None
    assert found.cause == cause
    assert found.gain is not None
    assert found.gain.saved_s * 1e3 == pytest.approx(saved_ms, abs=1.5)
    if cause == SLOW_RANK:
        assert found.subject == "rank 2"


def test_ranks_that_arrive_together_get_no_hint(made: Callable[[], Made]) -> None:
    assert first(several_ranks(made, lambda _step, _rank: 0.0)) is None


def test_a_lock_of_the_loaders_explains_the_input(made: Callable[[], Made]) -> None:
    maker = run(made, load=31)
    end = max(row["start_ns"] for row in maker.rows)
    for tid in (2, 3):
        maker.stacks(0, end, ["main", "work", "read"], tid=tid, line=7, text="with self.handle_lock:")
    for number, row in enumerate(maker.rows):
        if "weight_ns" in row and row.get("tid") in (2, 3):
            # Two of three stacks stand at the lock and do not run.
            row.update({"flags": 256, "tag": 7} if number % 3 else {"flags": 0, "tag": 9})
    found = advise(maker.recording(memory_one_core_bytes_per_s=PEAK))
    assert found.hints["cause"].tolist() == [LOCK, INPUT]
    assert found.hints["follows_from"].tolist() == ["", LOCK]
    assert "with self.handle_lock" in found.hints["subject"][0]
    assert found.findings[0].gain is not None
    assert found.findings[0].gain.share == pytest.approx(31 / 121, abs=0.01)


def test_threads_that_wait_for_work_hold_no_lock(made: Callable[[], Made]) -> None:
    maker = run(made)
    end = max(row["start_ns"] for row in maker.rows)
    maker.stacks(0, end, ["main", "work", "get"], tid=2, line=7, text="with self.not_empty:")
    maker.lines = {"queue.py:7": "with self.not_empty: self.lock.acquire()"}
    for row in maker.rows:
        if row.get("tid") == 2:
            row.update({"flags": 256, "name2": maker.strings.number("queue.py")})
    assert first(maker) is None


def test_collections_are_a_pause(made: Callable[[], Made]) -> None:
    maker, at = made(), 0
    for number in range(30):
        end = maker.marks(at, {"forward": (150 if number % 5 == 4 else 50) * MS})
        if number % 5 == 4:
            maker.add(Kind.REGION, end - 100 * MS, 100 * MS, "gc", rank=0, pid=10, tid=1, name2="python")
        at = end
    found = first(maker)
    assert found is not None
    assert (found.cause, found.subject) == (PAUSE, "garbage collection")
    assert found.gain is not None
    # The first step is left out: 6 collections of 100 ms in 29 steps.
    assert found.gain.saved_s == pytest.approx(600e-3 / 29, rel=1e-6)


def test_long_steps_at_regular_distances_are_a_pause(made: Callable[[], Made]) -> None:
    maker, at = made(), 0
    for number in range(30):
        at = maker.marks(at, {"forward": (150 if number % 5 == 4 else 50) * MS})
    found = first(maker)
    assert found is not None
    assert (found.cause, found.subject) == (PAUSE, "every 5 steps")


def test_every_cause_has_words() -> None:
    for cause in CAUSES:
        finding = Finding(cause, NAMED, "it", None, {})
        assert seen(finding)
        assert to_do(finding)
