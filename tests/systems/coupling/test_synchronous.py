"""Synchronous steps: parts add up, limits, stragglers by Monte Carlo."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.systems.base.collectives import allreduce_s
from mlperf.systems.coupling.synchronous import synchronous_step


def test_one_worker_only_computes() -> None:
    payload = allreduce_s("ring", np.array([1e8]), np.array([1.0]), 1e-5, 1e9)
    step = synchronous_step(np.array([0.1]), np.array([[0.2]]), payload[None], np.array([0.05]), np.array([1]), work_std_s=0.02)
    assert step.step_s == pytest.approx([0.35])
    assert step.exposed_s.item() == step.straggler_s.item() == 0.0


def test_what_is_not_hidden_is_exposed() -> None:
    """Two buckets: the first is sent behind the backward pass, the second after it."""
    ready, comm = np.array([[0.1], [0.2]]), np.array([[0.05], [0.08]])
    step = synchronous_step(np.array([0.1]), ready, comm, np.array([0.01]), np.array([4]), load_stall_s=0.02)
    assert step.exposed_s == pytest.approx([0.08])
    assert step.step_s == pytest.approx([0.02 + 0.1 + 0.28 + 0.01])


def test_the_slowest_of_many_is_that_of_a_sample() -> None:
    rng = np.random.default_rng(1)
    drawn = 1.0 + 0.1 * rng.standard_normal((200_000, 8))
    step = synchronous_step(np.array([1.0]), np.zeros((1, 1)), np.zeros((1, 1)), np.zeros(1), np.array([8]), work_std_s=0.1)
    assert step.step_s.item() == pytest.approx(drawn.max(axis=1).mean(), abs=4 * drawn.max(axis=1).std() / np.sqrt(200_000))
