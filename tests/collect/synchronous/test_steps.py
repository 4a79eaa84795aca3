"""Steps of one process that sleeps: laps are what was slept, their number fills the run."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.collect.synchronous.steps import LEAST_STEPS, MARKS, isolated_exchange, train_steps
from mlperf.collect.synchronous.waited import WAITED, WaitedWork
from mlperf.collect.trainer.waits import Sleeper

pytestmark = pytest.mark.slow

SLEPT = {"input": 0.001, "forward": 0.004, "backward": 0.006, "optimizer": 0.002}


class Alone:
    """One process: everybody is here."""

    def meet(self) -> None: ...

    def start_together(self) -> None: ...

    def sum(self, values: np.ndarray) -> None: ...

    def agree(self, value: float) -> float:
        return value

    def gather(self, values: np.ndarray) -> np.ndarray:
        return values[None]


def waited(rounds: dict[str, list[float]]) -> WaitedWork:
    return WaitedWork(rounds, 10, np.random.default_rng(0), Sleeper(0.0))


def test_laps_are_the_waits_and_fill_the_run() -> None:
    """The shortest of each part: on a busy machine most sleepers are woken late."""
    work = waited({part: [SLEPT[part]] for part in WAITED})
    timed = train_steps(work, Alone(), lambda _: np.arange(2), 1, 0.2)
    assert timed.marks_s.shape[1] == len(MARKS)
    assert 0.1 <= timed.marks_s[-1, -1] - timed.marks_s[0, 0] <= 0.6
    shortest = dict(zip(MARKS[1:], np.diff(timed.marks_s, axis=1).min(axis=0), strict=True))
    for lap, part in (("input", "input"), ("forward", "forward"), ("backward", "backward"), ("update", "optimizer")):
        assert shortest[lap] == pytest.approx(SLEPT[part], rel=0.25, abs=4e-4)
    assert timed.loss == 0.0


def test_a_short_run_has_the_least_number_of_steps() -> None:
    work = waited({part: [0.001] for part in WAITED})
    assert len(train_steps(work, Alone(), lambda _: np.arange(2), 1, 1e-6).marks_s) == LEAST_STEPS


def test_parts_of_a_wait_belong_to_one_measured_step() -> None:
    """Steps 1 and 2 are drawn whole: their forward and backward passes never mix."""
    work = waited({part: [0.0, 0.002] for part in WAITED})
    timed = train_steps(work, Alone(), lambda _: np.arange(2), 1, 0.05)
    laps = np.diff(timed.marks_s, axis=1)
    forward, backward = laps[:, 1] > 0.001, laps[:, 2] > 0.001
    assert 0 < forward.sum() < len(forward)
    assert (forward == backward).mean() > 0.9


def test_isolated_exchanges_are_counted() -> None:
    times_s = isolated_exchange(Alone(), 4096)
    assert len(times_s) >= LEAST_STEPS
    assert (times_s[:, 1] >= times_s[:, 0]).all()


def test_only_what_computes_touches_its_vector_before_an_isolated_exchange() -> None:
    class Adding(Alone):
        seen: list[float]

        def sum(self, values: np.ndarray) -> None:
            self.seen.append(float(values[0]))
            values += 1.0

    for computes, last in ((True, 0.0), (False, LEAST_STEPS)):
        exchange = Adding()
        exchange.seen = []
        isolated_exchange(exchange, 4096, computes=computes)
        assert exchange.seen[LEAST_STEPS] == last
