"""Loops that nobody marked, in sequences made with a known number of turns."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.traces.timeline.iterations import loop_nest, outliers


def nest(n_turns: int, n_layers: int, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Turns of copy, layers forward, layers backward, update; before them some other events; some dropped."""
    rng = np.random.default_rng(seed)
    turn = [
        (0, 2),
        *[(1 + number % 2, 5) for number in range(2 * n_layers)],
        *[(3 + number % 2, 1) for number in range(2 * n_layers)],
        (5, 0),
    ]
    events = [(6 + number, -1) for number in range(5)] + turn * n_turns
    kept = [event for event in events if rng.random() >= noise]
    ids, phase = zip(*kept, strict=True)
    return np.array(ids, dtype=np.int64), np.array(phase, dtype=np.int8)


@pytest.mark.parametrize("n_turns", [3, 7, 20, 100])
@pytest.mark.parametrize("n_layers", [2, 6])
def test_the_number_of_turns_is_found(n_turns: int, n_layers: int) -> None:
    """The layers inside repeat, too: only the whole turn holds every phase."""
    found = loop_nest(*nest(n_turns, n_layers, 0.0, 0))
    assert found.chosen >= 0
    assert found.levels["n"][found.chosen] == n_turns
    assert found.levels["period_events"][found.chosen] == pytest.approx(4 * n_layers + 2)


@pytest.mark.parametrize("seed", range(6))
def test_a_few_lost_events_do_not_matter(seed: int) -> None:
    found = loop_nest(*nest(100, 3, 0.01, seed))
    assert abs(int(found.levels["n"][found.chosen]) - 100) <= 3


def test_where_nothing_repeats_there_is_no_level() -> None:
    found = loop_nest(np.arange(30), np.full(30, -1, dtype=np.int8))
    assert len(found.levels) == 0
    assert found.chosen == -1


def test_outliers_are_far_from_the_median() -> None:
    lengths = np.array([10.0, 10.1, 9.9, 10.05, 30.0, 10.0, 9.95])
    assert np.flatnonzero(outliers(lengths)).tolist() == [4]
