"""The slowest of unequal workers against draws and against equal ones."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.systems.coupling.barrier import straggler_excess
from mlperf.systems.coupling.mixed_speeds import slowest_mean_s


@pytest.mark.parametrize("n_workers", [1, 2, 8, 64, 512])
def test_workers_of_one_kind_are_stragglers_alike(n_workers: int) -> None:
    found = slowest_mean_s([np.array(1.0)], [np.array(0.1)], [np.array(n_workers)])
    assert found == pytest.approx(1.0 + straggler_excess(0.1, n_workers), abs=1e-7)


@pytest.mark.parametrize(
    ("means", "stds", "counts"),
    [((1.0, 1.2), (0.1, 0.05), (6, 2)), ((1.0, 1.0), (0.2, 0.02), (3, 40)), ((1.0, 1.1, 0.9), (0.1, 0.0, 0.3), (4, 1, 4))],
)
def test_the_slowest_of_several_kinds_is_that_of_draws(
    means: tuple[float, ...], stds: tuple[float, ...], counts: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(5)
    drawn = [mean + std * rng.standard_normal((200_000, count)) for mean, std, count in zip(means, stds, counts, strict=True)]
    slowest = np.concatenate(drawn, axis=1).max(axis=1)
    found = slowest_mean_s(
        [np.array(each) for each in means], [np.array(each) for each in stds], [np.array(each) for each in counts]
    )
    assert found == pytest.approx(slowest.mean(), abs=4.0 * slowest.std() / np.sqrt(slowest.size))


def test_without_spread_the_slowest_kind_that_is_there_counts() -> None:
    counts = [np.array([3.0, 3.0]), np.array([0.0, 1.0])]
    assert slowest_mean_s([np.array(1.0), np.array(2.0)], [np.zeros(()), np.zeros(())], counts).tolist() == [1.0, 2.0]
