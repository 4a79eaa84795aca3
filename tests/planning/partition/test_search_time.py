"""Expected time of a search against sampling."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.planning.partition.search_time import expected_search_time


def test_random_order_against_sampling() -> None:
    rng = np.random.default_rng(3)
    times, good = rng.uniform(1, 6.7, 12), np.arange(12) % 4 == 0
    orders = [rng.permutation(12) for _ in range(20_000)]
    sampled = np.mean([expected_search_time(times, good, order.tolist()) for order in orders])
    assert expected_search_time(times, good) == pytest.approx(sampled, rel=0.01)


def test_fastest_first_by_hand() -> None:
    times, good = [3.0, 1.0, 2.0, 5.0], [True, False, False, True]
    assert expected_search_time(times, good, [1, 2, 0, 3]) == 6.0
    assert expected_search_time(times, good) == pytest.approx(3.0 / 3 + 4.0)


def test_fastest_first_is_quicker_where_time_tells_nothing_of_accuracy() -> None:
    """The paper's case: 66 configurations, 129.80 against 353.56 fastest epochs; here one of them is accepted, whichever."""
    times = np.sort(np.random.default_rng(0).uniform(1.0, 6.7, 66))
    one = np.eye(66, dtype=bool)
    fastest = np.mean([expected_search_time(times, good, range(66)) for good in one])
    random = np.mean([expected_search_time(times, good) for good in one])
    assert fastest == pytest.approx(np.cumsum(times).mean())
    assert fastest < 0.8 * random


def test_nothing_accepted_is_an_error() -> None:
    with pytest.raises(DataError, match="accepted"):
        expected_search_time([1.0], [False])
    with pytest.raises(DataError, match="order"):
        expected_search_time([1.0, 2.0], [True, True], [0, 0])
