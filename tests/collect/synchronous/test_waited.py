"""Waits in place of work: as long as told, with a vector of the right length to exchange."""

from __future__ import annotations

import time

import numpy as np

from mlperf.collect.synchronous.waited import WAITED, WaitedWork
from mlperf.collect.trainer.waits import Sleeper


def test_a_step_waits_for_its_parts_in_turn() -> None:
    sleeper = Sleeper(0.0)
    work = WaitedWork(dict(zip(WAITED, ([0.001], [0.004], [0.003], [0.002]), strict=True)), 7, np.random.default_rng(0), sleeper)
    taken = []
    for act in (lambda: work.load(np.arange(2)), work.forward, work.backward, work.pack, lambda: work.update(4)):
        start_s = time.perf_counter()
        act()
        taken.append(time.perf_counter() - start_s)
    assert (np.array(taken)[[0, 1, 2, 4]] >= [0.001, 0.004, 0.003, 0.002]).all()
    assert len(sleeper.overshoots_s) == 4
    assert work.weights().tolist() == [0.0] * 7
