"""Iterations by structure: made nests, and real runs where marks tell the truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from profiles import kernel, write

from mlperf.core.errors import DataError
from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.timeline.iterations import loop_nest, outliers, repeated_steps
from mlperf.traces.timeline.phases import PHASES
from mlperf.traces.timeline.windows import marked_steps

FORWARD, BACKWARD, UPDATE, COPY = (list(PHASES).index(name) for name in ("forward", "backward", "update", "h2d"))


def nest(n_iterations: int, noise: float, seed: int, n_layers: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Ids and phases: copies, layers forward and backward, an update; warm-up before and an evaluation behind."""
    rng = np.random.default_rng(seed)
    body = [(0, COPY)]
    body += [(1 + part, FORWARD) for _ in range(n_layers) for part in range(4)] + [(9, FORWARD)]
    body += [(10, BACKWARD)] + [(11 + part, BACKWARD) for _ in range(n_layers) for part in range(5)]
    body += [(20, UPDATE), (21, UPDATE)]
    sequence = [(30 + place, -1) for place in range(17)]
    for _ in range(n_iterations):
        sequence += [each for each in body if rng.random() >= noise]
    sequence += [(1 + part, FORWARD) for _ in range(n_layers) for part in range(4)]
    return np.array([each[0] for each in sequence]), np.array([each[1] for each in sequence], dtype=np.int8)


@pytest.mark.parametrize("n_iterations", [2, 3, 7, 20, 100])
def test_the_loop_of_training_steps_is_chosen_not_that_of_layers(n_iterations: int) -> None:
    found = loop_nest(*nest(n_iterations, 0.0, 1))
    assert found.chosen >= 0
    assert found.levels.loc[found.chosen, "n"] == n_iterations
    assert found.levels["period_events"].is_monotonic_increasing
    assert found.levels["n"].iloc[0] > n_iterations


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n_iterations", [7, 20, 100])
def test_lost_events_change_the_number_by_2_percent_at_most(n_iterations: int, seed: int) -> None:
    """One event in fifty lost."""
    found = loop_nest(*nest(n_iterations, 0.02, seed))
    assert found.chosen >= 0
    assert found.levels.loc[found.chosen, "n"] == pytest.approx(n_iterations, abs=max(0.02 * n_iterations, 0.5))


def test_nothing_is_chosen_where_no_level_holds_every_phase(tmp_path: Path) -> None:
    ids, phase = nest(10, 0.0, 1)
    late = np.concatenate((ids, [50, 50])), np.concatenate((phase, np.full(2, list(PHASES).index("d2h"), dtype=np.int8)))
    assert loop_nest(*late).chosen >= 0, "two of thousands are not asked for in every iteration"
    events = [kernel(place, 0.5, place, "ab"[place % 2]) for place in range(10)]
    with pytest.raises(DataError, match="not clear: 0: 5 x 2 events, cover 100%"):
        repeated_steps(read_chrome(write(tmp_path / "a.json", events, 0)), 0)
    once = [kernel(place, 0.5, place, f"k{place}") for place in range(10)]
    with pytest.raises(DataError, match="no repetition found"):
        repeated_steps(read_chrome(write(tmp_path / "b.json", once, 0)), 0)


def test_unusual_lengths_are_named() -> None:
    assert np.flatnonzero(outliers(np.array([10.0, 11.0, 10.0, 9.0, 30.0, 10.5]))).tolist() == [4]


@pytest.mark.data
@pytest.mark.parametrize("name", ["kineto_odd/compare_control_a100", "kineto_odd/compare_test_v100", "kineto_traces/rank_0_of_128"])
def test_structure_finds_as_many_steps_as_are_marked(name: str, shared_data: Path) -> None:
    table = read_chrome(shared_data / f"{name}.json.gz")
    marked = marked_steps(table, int(table.rank[0]))
    assert marked is not None
    assert len(repeated_steps(table, int(table.rank[0])).windows) == len(marked)


@pytest.mark.data
def test_thirty_unmarked_steps(shared_data: Path) -> None:
    """The data's description: 30 training steps, not annotated."""
    assert len(repeated_steps(read_chrome(shared_data / "kineto_traces" / "resnet_2080ti.json.gz"), 0).windows) == 30
