"""Windows of mean, quantile and staleness against a brute force over every row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mlperf.core.errors import UsageError
from mlperf.planning.search.search_grid import solve_search
from mlperf.planning.search.windows import MEAN, QUANTILE, STALENESS, Window, by_chunk
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import State, solve_iterations
from mlperf.systems.sprint.iterations import DEFAULT_FORM
from mlperf.systems.sprint.minibatch import minibatch_distribution, minibatch_std
from mlperf.systems.sprint.outputs import epoch_time, mean_minibatch_size
from mlperf.systems.sprint.staleness import mean_staleness

pytestmark = pytest.mark.slow

Machine = Callable[..., tuple[ComponentTimes, RunGrid]]
ENDLESS = (0.0, np.inf)


@pytest.fixture(scope="module")
def grid(calibrated: Machine) -> tuple[ComponentTimes, RunGrid, State]:
    nodes, batches = (axis.ravel() for axis in np.meshgrid(range(1, 31), range(1, 11), indexing="ij"))
    times, run = calibrated("tsubame2", nodes, batches, 0.15)
    return times, run, solve_iterations(times, run)


def by_epoch(run: RunGrid, state: State, inside: np.ndarray) -> list[int]:
    rows = np.flatnonzero(inside)
    return rows[np.argsort(epoch_time(state.gpu_iteration_s, run)[rows], kind="stable")].tolist()


def test_a_quantile_window_ranks_as_every_distribution_does(grid: tuple[ComponentTimes, RunGrid, State]) -> None:
    times, run, state = grid
    exact = np.array([minibatch_distribution(times, state, run, row).quantile(0.9) for row in range(run.shape[0])])
    found = solve_search(times, run, ENDLESS, also=(Window(QUANTILE, 100.0, 170.0, 0.9),))
    expected = by_epoch(run, state, (exact >= 100.0) & (exact <= 170.0))
    assert found.order[:10].tolist() == expected[:10]
    assert found.values["minibatch_q90"][found.order[:10]] == pytest.approx(exact[found.order[:10]])
    mean = mean_minibatch_size(state.gpu_iteration_s, state.update_iteration_s, run)
    assert (mean[found.order[:10]] < exact[found.order[:10]]).all()


def test_a_staleness_window_ranks_as_the_brute_force(grid: tuple[ComponentTimes, RunGrid, State]) -> None:
    times, run, state = grid
    age, size = mean_staleness(times, state, run), mean_minibatch_size(state.gpu_iteration_s, state.update_iteration_s, run)
    found = solve_search(times, run, (50.0, np.inf), also=(Window(STALENESS, 0.0, 2.5),))
    assert found.order[:10].tolist() == by_epoch(run, state, (age <= 2.5) & (size >= 50.0))[:10]
    assert (found.values["mean_staleness"][found.order] <= 2.5).all()


def test_time_to_a_target_is_epochs_times_epoch(grid: tuple[ComponentTimes, RunGrid, State]) -> None:
    """Epochs that grow with mini-batch and staleness: the optimum moves to fewer nodes."""
    times, run, state = grid
    age, size = mean_staleness(times, state, run), mean_minibatch_size(state.gpu_iteration_s, state.update_iteration_s, run)
    found = solve_search(
        times, run, ENDLESS, epochs=lambda minibatch, staleness, _: 5.0 * (1.0 + minibatch / 20.0) ** 2 * staleness
    )
    whole = epoch_time(state.gpu_iteration_s, run) * 5.0 * (1.0 + size / 20.0) ** 2 * age
    assert found.order[0] == np.argmin(whole)
    assert found.cost[found.order[0]] == pytest.approx(whole.min(), rel=1e-9)
    assert run.n_nodes[found.order[0]] < run.n_nodes[np.argmin(epoch_time(state.gpu_iteration_s, run))]


def test_chunks_change_no_value(grid: tuple[ComponentTimes, RunGrid, State], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlperf.planning.search.windows.CHUNK", 37)
    for value in (minibatch_std, mean_staleness):
        assert by_chunk(value, *_swapped(grid)) == pytest.approx(value(*_swapped(grid)), rel=1e-12)


def _swapped(grid: tuple[ComponentTimes, RunGrid, State]) -> tuple[ComponentTimes, State, RunGrid]:
    times, run, state = grid
    return times, state, run


def test_edges_and_misses() -> None:
    window = Window(MEAN, 100.0, 200.0)
    values = np.array([50.0, 95.0, 100.0, 150.0, 205.0, 400.0])
    assert window.holds(values).tolist() == [False, False, True, True, False, False]
    assert window.near_edge(values, 0.1).tolist() == [False, True, True, False, True, False]
    assert np.exp(window.log_miss(values))[[0, 5]].tolist() == pytest.approx([2.0, 2.0])
    assert Window(QUANTILE, 0.0, 1.0, 0.975).column == "minibatch_q97.5"
    assert Window(STALENESS, *ENDLESS).is_open


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((MEAN, 9, 3), "window 9:3"), (("mean_fame", 0, 1), "window of 'mean_fame'"), ((QUANTILE, 0, 1, 1.0), "level 1.0")],
)
def test_wrong_windows_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Window(*arguments)  # type: ignore[arg-type]


def test_the_best_rows_are_refined_although_refinement_makes_them_worse(calibrated: Machine) -> None:
    """A flat optimum whose objective rises with the mini-batch, which the coarse form has too small."""
    nodes, batches = (axis.ravel() for axis in np.meshgrid(range(1, 121), range(1, 13), indexing="ij"))
    times, run = calibrated("kfc", nodes, batches, 0.15)
    found = solve_search(times, run, ENDLESS, epochs=lambda minibatch, *_: (1.0 + minibatch / 100.0) ** 1.2, most_refined=60)
    state = solve_iterations(times, run)
    size = mean_minibatch_size(state.gpu_iteration_s, state.update_iteration_s, run)
    whole = epoch_time(state.gpu_iteration_s, run) * (1.0 + size / 100.0) ** 1.2
    assert (found.closed[found.order[:10]] == DEFAULT_FORM).all()
    assert whole[found.order[0]] == pytest.approx(whole.min(), rel=1e-3)
