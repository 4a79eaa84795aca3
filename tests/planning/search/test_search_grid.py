"""Search on the calibrated machines: window set, order and optimum; what is refined."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mlperf.core.errors import UsageError
from mlperf.planning.search.search_grid import grid_neighbours, least_rows, pareto_front, solve_search
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.iterations import DEFAULT_FORM
from mlperf.systems.sprint.outputs import epoch_time, mean_minibatch_size

pytestmark = pytest.mark.slow

Machine = Callable[..., tuple[ComponentTimes, RunGrid]]
WINDOW = (103.5, 172.5)  # 138 +- 25 %


def grid(nodes: object, subbatch: object) -> tuple[np.ndarray, np.ndarray]:
    first, second = (axis.ravel() for axis in np.meshgrid(nodes, subbatch, indexing="ij"))
    return first, second


def in_window_by_epoch(times: ComponentTimes, run: RunGrid, closed: str) -> list[tuple[int, int]]:
    state = solve_iterations(times, run, closed)
    size = mean_minibatch_size(state.gpu_iteration_s, state.update_iteration_s, run)
    rows = np.flatnonzero((size >= WINDOW[0]) & (size <= WINDOW[1]))
    rows = rows[np.argsort(epoch_time(state.gpu_iteration_s, run)[rows])]
    return [(int(run.n_nodes[row]), int(run.subbatch_size[row])) for row in rows]


def test_the_window_of_tsubame2_holds_table_10_in_its_order(calibrated: Machine) -> None:
    times, run = calibrated("tsubame2", *grid([1, 2, 4, 8, 16, 32, 64], range(1, 6)))
    assert in_window_by_epoch(times, run, "paper") == [(16, 5), (16, 4), (32, 1), (16, 3)]


def test_the_window_of_kfc_holds_table_10_in_its_order(calibrated: Machine) -> None:
    times, run = calibrated("kfc", *grid([1, 2, 4, 8, 16], [1, 4, 8, 11]))
    assert in_window_by_epoch(times, run, "paper") == [(8, 11), (8, 8), (8, 4)]


def test_the_optimum_of_tsubame2_over_all_node_counts(calibrated: Machine) -> None:
    """(20, 5): 2105 s, 167.5 samples."""
    times, run = calibrated("tsubame2", *grid(range(1, 65), range(1, 6)))
    assert in_window_by_epoch(times, run, "paper")[0] == (20, 5)
    state = solve_iterations(*calibrated("tsubame2", 20, 5), "paper")
    run = calibrated("tsubame2", 20, 5)[1]
    assert epoch_time(state.gpu_iteration_s, run) == pytest.approx(2105, rel=1e-3)
    assert mean_minibatch_size(state.gpu_iteration_s, state.update_iteration_s, run) == pytest.approx(167.5, rel=1e-3)


def test_the_refined_search_ranks_as_the_whole_grid_would(calibrated: Machine) -> None:
    """The default form everywhere gives the same ten best rows."""
    times, run = calibrated("tsubame2", *grid(range(1, 101), range(1, 21)), 0.1)
    solution = solve_search(times, run, WINDOW)
    expected = in_window_by_epoch(times, run, DEFAULT_FORM)[:10]
    assert [(int(run.n_nodes[row]), int(run.subbatch_size[row])) for row in solution.order[:10]] == expected
    assert (solution.closed[solution.order[:10]] == DEFAULT_FORM).all()
    assert solution.n_refined == np.count_nonzero(solution.closed == DEFAULT_FORM) <= 300
    assert (np.diff(solution.epoch_s[solution.order]) >= 0).all()


def test_rows_that_do_not_fit_are_left_out(calibrated: Machine) -> None:
    times, run = calibrated("tsubame2", *grid([1, 2, 4, 8, 16, 32, 64], range(1, 6)))
    solution = solve_search(times, run, WINDOW, feasible=run.subbatch_size < 5)
    assert not (run.subbatch_size[solution.order] == 5).any()
    assert solution.in_window.sum() == solution.order.size > 0


def test_an_empty_window_refines_its_nearest_rows(calibrated: Machine) -> None:
    times, run = calibrated("tsubame2", *grid(range(1, 9), range(1, 6)))
    solution = solve_search(times, run, (1e6, 2e6))
    assert solution.order.size == 0
    assert solution.closed[np.argmax(solution.mean_minibatch_size)] == DEFAULT_FORM


def test_another_objective_changes_the_order(calibrated: Machine) -> None:
    times, run = calibrated("tsubame2", *grid(range(1, 65), range(1, 6)))
    cheap = solve_search(times, run, WINDOW, objective=lambda epoch_s, grid: epoch_s * grid.n_nodes**2)
    fast = solve_search(times, run, WINDOW)
    cost = cheap.epoch_s * run.n_nodes**2
    assert (np.diff(cost[cheap.order]) >= 0).all()
    assert run.n_nodes[cheap.order[0]] < run.n_nodes[fast.order[0]]


def test_neighbours_are_one_step_away() -> None:
    run = RunGrid.product([1, 2, 4], [2], [1, 3], 10)
    rows = grid_neighbours(run, np.array([2]))
    assert sorted(rows.tolist()) == [0, 3, 4]
    missing = run.take([0, 2, 3])
    assert sorted(grid_neighbours(missing, np.array([1])).tolist()) == [0, 2]


def test_the_pareto_front_has_no_beaten_row() -> None:
    cost = np.array([5.0, 4.0, 4.5, 3.0, 3.0, 9.0])
    n_gpus = np.array([1, 2, 3, 4, 5, 1])
    assert pareto_front(cost, n_gpus, np.arange(6)).tolist() == [0, 1, 3]
    assert pareto_front(cost, n_gpus, np.zeros(0, dtype=int)).size == 0


def test_front_and_least_rows_are_those_of_sorting_all() -> None:
    """Whole numbers as costs, so that many rows tie: of equal ones the first counts."""
    rng = np.random.default_rng(5)
    for n_costs in (3, 30, 1000):
        cost, n_gpus = rng.integers(1, n_costs, 400).astype(float), rng.integers(1, 60, 400)
        rows = rng.permutation(400)[:300]
        front: list[int] = []
        for row in rows[np.lexsort((cost[rows], n_gpus[rows]))].tolist():
            if not front or cost[row] < cost[front[-1]]:
                front.append(row)
        assert pareto_front(cost, n_gpus, rows).tolist() == front
        for n in (1, 7, 299, 300, 500):
            assert least_rows(cost, rows, n).tolist() == rows[np.argsort(cost[rows], kind="stable")][:n].tolist()


def test_wrong_requests_are_refused(calibrated: Machine) -> None:
    times, run = calibrated("kfc", [4, 8], [1, 4])
    with pytest.raises(UsageError, match="window 9:3"):
        solve_search(times, run, (9, 3))
    with pytest.raises(UsageError, match="one row per configuration"):
        solve_search(times, RunGrid(np.array(4), np.array(8), np.array(1), np.array(10)), WINDOW)


def test_a_large_grid_has_the_best_row_that_every_row_solved_exactly_has(calibrated: Machine) -> None:
    times, run = calibrated("kfc", *grid(range(1, 41), range(1, 26)), 0.2)
    found = solve_search(times, run, WINDOW)
    exact = solve_search(times, run, WINDOW, most_refined=len(run.n_nodes))
    assert found.order[0] == exact.order[0]
    assert found.epoch_s[found.order[:10]] == pytest.approx(exact.epoch_s[found.order[:10]], rel=1e-9)
