"""Steps that nobody marked, found in samples: made loops with jitter, whose onsets are known."""

from __future__ import annotations

import numpy as np
import pytest
from made_recordings import MS, Made

from mlperf.traces.events.kinds import Kind
from mlperf.traces.whole_run.sampled_steps import SampledSteps, sampled_steps

EVERY = 10 * MS
LENGTHS = {"load": 60, "forward": 120, "backward": 180, "update": 40}


def loop(seed: int, n_steps: int, jitter: float) -> tuple[Made, dict[str, np.ndarray]]:
    """A program that loads, computes and updates; and when each phase of each step began."""
    rng = np.random.default_rng(seed)
    maker = Made()
    maker.stacks(0, 700 * MS, ["main", "setup"], every_ns=EVERY)
    at, begun = 700 * MS, {name: [] for name in LENGTHS}
    for _ in range(n_steps):
        for name, length in LENGTHS.items():
            begun[name].append(at)
            spent = int(length * MS * (1 + jitter * rng.uniform(-1, 1)))
            maker.stacks(at, at + spent, ["main", "train", name], every_ns=EVERY)
            at += spent
    maker.stacks(at, at + 300 * MS, ["main", "save"], every_ns=EVERY)
    return maker, {name: np.array(times) for name, times in begun.items()}


def onset_f1(found: SampledSteps, begun: np.ndarray) -> float:
    """Of onsets within a tenth of a step of a true one."""
    near = np.abs(found.windows.start_ns[:, None] - begun[None, :]) < 0.1 * sum(LENGTHS.values()) * MS
    hits = min(near.any(axis=0).sum(), near.any(axis=1).sum())
    return float(2 * hits / (len(found.windows) + len(begun)))


@pytest.mark.parametrize("n_steps", [7, 20, 100])
@pytest.mark.parametrize("jitter", [0.0, 0.2])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_onsets_are_found(n_steps: int, jitter: float, seed: int) -> None:
    maker, begun = loop(seed, n_steps, jitter)
    found = sampled_steps(maker.recording().events, 0)
    assert found is not None
    assert found.anchor in LENGTHS
    assert abs(len(found.windows) - n_steps) <= 1
    # Before the first and behind the last step, nobody can tell a part of one from a whole one.
    assert onset_f1(found, begun[found.anchor]) >= (0.92 if n_steps == 7 else 0.95)
    assert found.resolution_ns == EVERY
    assert "marks no steps" in found.note


def test_the_mean_step_is_within_two_percent() -> None:
    maker, begun = loop(5, 60, 0.2)
    found = sampled_steps(maker.recording().events, 0)
    assert found is not None
    lengths = found.windows.end_ns - found.windows.start_ns
    assert lengths.mean() == pytest.approx(np.diff(begun["load"]).mean(), rel=0.02)


def test_what_does_not_come_back_has_no_steps() -> None:
    maker = Made()
    for number in range(40):
        maker.stacks(number * 100 * MS, (number + 1) * 100 * MS, ["main", f"part {number}"], every_ns=EVERY)
    assert sampled_steps(maker.recording().events, 0) is None
    few = Made()
    few.stacks(0, 50 * MS, ["main"], every_ns=EVERY)
    assert sampled_steps(few.recording().events, 0) is None


def test_lengths_that_differ_wildly_are_no_steps() -> None:
    rng = np.random.default_rng(3)
    maker, at = Made(), 0
    for _ in range(30):
        for name in ("a", "b"):
            spent = int(rng.pareto(0.6) * 60 * MS) + 20 * MS
            spent = min(spent, 3000 * MS)
            maker.stacks(at, at + spent, ["main", name], every_ns=EVERY)
            at += spent
    found = sampled_steps(maker.recording().events, 0)
    assert found is None or found.cover < 1.0


def test_names_of_threads_are_no_functions() -> None:
    """As /proc tells them: who computes, not what."""
    maker, at = Made(), 0
    for _ in range(20):
        for name, length in (("[python]", 60), ("[loader 0]", 40)):
            for moment in range(at, at + length * MS, EVERY):
                maker.add(Kind.SAMPLE, moment, 0, name, rank=0, pid=10, tid=1, weight_ns=EVERY)
            at += length * MS
    assert sampled_steps(maker.recording().events, 0) is None
