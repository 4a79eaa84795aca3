"""Stacks at locks: see `test_advise` for a whole run."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from made_recordings import MS, Made

from mlperf.planning.advice.facts.locks import LOCK_LINE, lock_facts, step_threads
from mlperf.traces.whole_run.steps import find_steps


@pytest.mark.parametrize(
    "text", ["with self.handle_lock:", "lock.acquire()", "with pool.locks[3]:", "self._mutex.acquire(timeout=1)", "with semaphore:"]
)
def test_lines_that_take_a_lock(text: str) -> None:
    assert LOCK_LINE.search(text)


@pytest.mark.parametrize("text", ["with open(path) as file:", "block = queue.get()", "clock()", "with region('step'):"])
def test_lines_that_do_not(text: str) -> None:
    assert not LOCK_LINE.search(text)


def test_the_share_of_waiting(made: Callable[[], Made]) -> None:
    maker, at = made(), 0
    for _ in range(8):
        at = maker.marks(at, {"forward": 100 * MS})
    maker.stacks(0, at, ["main", "train"], line=3, text="x @ y")
    maker.stacks(0, at // 4, ["main", "train"], line=9, text="with lock:")
    for row in maker.rows:
        if row.get("tag") == 9:
            row["flags"] = 256
    recording = maker.recording()
    steps = find_steps(recording)
    found = lock_facts(recording, steps)
    assert found is not None
    assert found.n_threads == 1
    assert found.main_share == pytest.approx(0.2, abs=0.01)
    assert found.line.endswith("with lock:")
    assert step_threads(recording, steps).tolist() == [(10 << 32) + 1]


def test_nobody_at_a_lock(made: Callable[[], Made]) -> None:
    maker, at = made(), 0
    for _ in range(4):
        at = maker.marks(at, {"forward": 100 * MS})
    assert lock_facts(maker.recording(), find_steps(maker.recording())) is None
    maker.stacks(0, at, ["main"], line=3, text="x @ y")
    assert lock_facts(maker.recording(), find_steps(maker.recording())) is None
