"""Waits come from measured rounds, from nothing else, and cost no processor time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import get_native_id
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mlperf.collect.trainer.exchange import Exchange
from mlperf.collect.trainer.rounds import gradient_rounds, memory_rounds
from mlperf.collect.trainer.waits import Sleeper, Wait, wake_promptly
from mlperf.core.errors import DataError, InterruptedRun
from mlperf.datasets import read_campaign
from mlperf.specs import CnnSpec

pytestmark = pytest.mark.slow

NET = CnnSpec.from_sprint("tiny", 14, (1, 4, 5, 6, 7), (2,), 3)


def test_the_trainer_imports_no_model_and_no_equation() -> None:
    """The names of components and the scores of repeats are neither; statistics that it does not need take a second to import."""
    code = (
        "import sys, mlperf.collect.trainer.train, mlperf.collect.trainer.rank.rank, mlperf.collect.trainer.sequential;"
        "mlperf.collect.trainer.samples.digits_samples();"
        "rooms = ('mlperf.models', 'mlperf.systems', 'mlperf.features', 'mlperf.training', 'mlperf.forecast', 'scipy.stats',"
        "         'sklearn');"
        "files = {name: getattr(sys.modules[name], '__file__', None) or '' for name in sys.modules if name.startswith(rooms)};"
        "print(*(name for name, file in files.items() if file and not file.endswith('__init__.py')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert set(done.stdout.split()) <= {"mlperf.systems.sprint.components", "mlperf.models.validation.scores"}


def test_gradient_waits_are_the_rounds_of_the_network(measured: Path) -> None:
    campaign = read_campaign(measured)
    rounds = gradient_rounds(campaign, NET, 4, "numpy")
    assert campaign.steps is not None
    assert rounds["compute_gradient"] == campaign.steps["step_s"].tolist()
    assert set(rounds) == {"compute_gradient", "load_image", "deform_image"}


def test_between_measured_sizes_each_round_is_interpolated_by_itself(measured: Path) -> None:
    campaign = read_campaign(measured)
    assert campaign.updates is not None
    rows = campaign.updates[campaign.updates["operation"] == "update_gradient"]
    expected = [np.interp(NET.n_params, one["n_params"], one["cpu_s"]) for _, one in rows.groupby("round")]
    assert memory_rounds(campaign, NET.n_params, 2)["update_gradient"] == pytest.approx(expected, rel=1e-12)
    shared = [
        np.interp(NET.n_params // 2, one["n_params"], one["cpu_s"])
        for _, one in campaign.updates[campaign.updates["operation"] == "add_momentum"].groupby("round")
    ]
    assert memory_rounds(campaign, NET.n_params, 2)["add_momentum"] == pytest.approx(shared, rel=1e-12)


def test_images_are_interpolated_in_both_sizes(measured: Path) -> None:
    """An operation that costs a + c b x is bilinear: scipy's interpolator on each round is the truth."""
    from scipy.interpolate import RegularGridInterpolator

    campaign = read_campaign(measured)
    assert campaign.updates is not None
    rows = campaign.updates[campaign.updates["operation"] == "load_image"]
    expected = []
    for _, one in rows.groupby("round"):
        grid = one.pivot_table(index="subbatch_size", columns="input_size", values="cpu_s")
        expected.append(float(RegularGridInterpolator((grid.index, grid.columns), grid.to_numpy())((4, 196))))
    assert gradient_rounds(campaign, NET, 4, "numpy")["load_image"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda campaign: gradient_rounds(campaign, NET, 8, "numpy"), "one of its measured sizes: 4"),
        (lambda campaign: gradient_rounds(campaign, NET, 4, "torch"), "sizes: none"),
        (lambda campaign: memory_rounds(campaign, 5000, 1), "expected 100 to 1000"),
        (lambda campaign: memory_rounds(campaign, 500, 16), "expected 100 to 1000"),
    ],
)
def test_what_was_not_measured_is_not_waited_for(measured: Path, call, says: str) -> None:
    with pytest.raises(DataError, match=says):
        call(read_campaign(measured))


def test_every_round_is_drawn_about_equally_often() -> None:
    slept: list[float] = []

    def note(duration_s: float, _: float) -> None:
        slept.append(duration_s)

    wait = Wait((0.1, 0.2, 0.3), np.random.default_rng(0), note)  # type: ignore[arg-type]
    for _ in range(3000):
        wait()
    counts = pd.Series(slept).value_counts()
    assert set(counts.index) == {0.1, 0.2, 0.3}
    # Binomial(3000, 1/3): mean 1000, standard deviation 26.
    assert counts.between(1000 - 4 * 26, 1000 + 4 * 26).all()


def test_no_wait_is_shorter_than_asked_for_without_correction() -> None:
    sleeper = Sleeper(0.0)
    for _ in range(20):
        sleeper(0.001)
    assert min(sleeper.overshoots_s) >= 0


def test_prompt_wake_ups_are_granted_at_normal_priority() -> None:
    def ask() -> tuple[bool, int, int]:
        return wake_promptly(), os.sched_getscheduler(0), int(Path(f"/proc/{get_native_id()}/timerslack_ns").read_text())

    # In a thread of its own: the setting stays with the thread.
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(ask).result() == (True, os.sched_getscheduler(0), 1)
    assert os.sched_getscheduler(0) not in {os.SCHED_FIFO, os.SCHED_RR}


def test_waits_of_a_run_are_its_rounds(emulated: Any) -> None:
    """What a worker slept lies between the shortest and the longest round, less the correction, plus the oversleeping."""
    asked = np.array(emulated.job.waits["compute_gradient"])
    taken = emulated.records.gpu["compute_gradient_s"]
    assert taken.median() >= 0.9 * asked.min()
    assert taken.min() > asked.min() - 0.005


class Never:
    """A request whose others do not come."""

    def Test(self) -> bool:
        return False


def test_waiting_for_others_sleeps_and_ends() -> None:
    exchange = Exchange(None, 0.4, lambda: None)
    before = time.thread_time()
    with pytest.raises(InterruptedRun, match="no answer of the other ranks"):
        exchange.finish(Never())
    assert time.thread_time() - before < 0.2


def test_waiting_raises_what_a_worker_failed_with() -> None:
    def fail() -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        Exchange(None, 10.0, fail).finish(Never())
