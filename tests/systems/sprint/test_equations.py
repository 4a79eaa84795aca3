"""The fixed point against Picard iteration, bisection, the calibrated machines and four known traps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import integrate, special

from mlperf.core.errors import DataError, UsageError
from mlperf.systems.base.times import SPREADS, WAITS_S, ComponentTimes, RunGrid
from mlperf.systems.coupling.barrier import barrier_excess
from mlperf.systems.coupling.barrier_wait import FreshBuffer, barrier_wait, fresh_barrier_wait
from mlperf.systems.sprint import equations
from mlperf.systems.sprint.equations import coupled_threads, solve_iterations
from mlperf.systems.sprint.iterations import CLOSED_FORMS, ROUGH, log_mismatch
from mlperf.systems.sprint.outputs import epoch_time, mean_minibatch_size

pytestmark = pytest.mark.slow

Machine = Callable[..., tuple[ComponentTimes, RunGrid]]
FORMS = tuple(CLOSED_FORMS)


def random_case(rng: np.random.Generator, size: int, jitter: bool) -> tuple[ComponentTimes, RunGrid]:
    """Times over two decades, 1 to 8 GPUs, 1 to 64 nodes; saturated locks included."""
    seconds = [0.01 * 10 ** rng.uniform(0.0, 2.0, size) for _ in range(12)]
    variation = rng.uniform(0.0, 0.3, size) if jitter else np.zeros(size)
    std_s = variation * (seconds[1] + seconds[2] + seconds[3] + seconds[4])
    run = RunGrid(rng.integers(1, 65, size), rng.integers(1, 9, size), np.ones(size, int), np.full(size, 1000))
    return ComponentTimes(*seconds, std_s), run


def varied_case(rng: np.random.Generator, size: int) -> tuple[ComponentTimes, RunGrid]:
    """The same where every hold and the update thread's own work vary from time to time."""
    times, run = random_case(rng, size, jitter=True)
    own_s = {name: getattr(times, "update_old_weights_s" if name == "update_work" else f"{name}_s") for name in SPREADS}
    return replace(times, **{f"{name}_std_s": rng.uniform(0.0, 0.4, size) * own_s[name] for name in SPREADS}), run


def picard_paper(threads: Any, row: int) -> tuple[float, float]:
    """Iterate the paper's two equations as they are printed, from (a0, b0); scipy's binomial in eq. 8."""
    value = {name: float(getattr(threads, name)[row]) for name in threads.__slots__}
    n, nodes = int(value["n_gpus_per_node"]), value["n_nodes"]
    fetch_s, deposit_s, sum_s, overwrite_s = (
        value[name] for name in ("fetch_weights_s", "update_gradient_s", "sum_gradient_s", "update_weights_s")
    )
    gpu_s, update_s = value["gpu_free_s"], value["update_free_s"]
    for _ in range(5000):
        p, q = min(update_s / gpu_s, 1.0), min(gpu_s / update_s, 1.0)
        excess = n * (1.0 - p) - np.sum(special.bdtr(np.arange(n), n, p) ** nodes)
        locks_gpu_s = (
            overwrite_s**2 / (2 * update_s) + (n - 1) * (q * fetch_s) ** 2 / (2 * gpu_s) + (p * sum_s) ** 2 / (2 * update_s)
        )
        locks_update_s = n * deposit_s**2 / (2 * gpu_s) + n * (q * fetch_s) ** 2 / (2 * gpu_s)
        new = (
            value["gpu_free_s"] + q * fetch_s + locks_gpu_s,
            value["update_free_s"] + n * p * sum_s + sum_s * excess + locks_update_s,
        )
        if abs(new[0] / gpu_s - 1) + abs(new[1] / update_s - 1) < 1e-14:
            return new
        gpu_s, update_s = new
    raise AssertionError("Picard iteration did not converge")


def test_the_paper_form_is_the_fixed_point_of_picard_iteration() -> None:
    times, run = random_case(np.random.default_rng(1), 150, jitter=False)
    state, threads = solve_iterations(times, run, "paper"), coupled_threads(times, run)
    for row in range(150):
        gpu_s, update_s = picard_paper(threads, row)
        assert state.gpu_iteration_s[row] == pytest.approx(gpu_s, rel=1e-8)
        assert state.update_iteration_s[row] == pytest.approx(update_s, rel=1e-8)


@pytest.mark.parametrize(("closed", "n_rows"), [("second_moment", 20), ("convolution", 12), ("phases", 5)])
def test_the_jitter_forms_are_the_fixed_point_of_picard_iteration(closed: str, n_rows: int) -> None:
    """The right-hand sides written again from the text, iterated with damping from (a0 + n F, b0), which is far from the solution.

    ``phases`` on locks that are not saturated: steps of a half swing about a queue for more than the weights have.
    """
    times, run = random_case(np.random.default_rng(2), 40, jitter=True)
    state, threads = solve_iterations(times, run, closed), coupled_threads(times, run)
    usable = np.ones(40, dtype=bool) if closed != "phases" else ~state.flags["weights_lock_saturated"]
    for row in np.flatnonzero(usable)[:n_rows]:
        value = {name: float(getattr(threads, name)[row]) for name in threads.__slots__}
        gpu_s, update_s = value["gpu_free_s"] + value["n_gpus_per_node"] * value["fetch_weights_s"], value["update_free_s"]
        assert abs(gpu_s / state.gpu_iteration_s[row] - 1) + abs(update_s / state.update_iteration_s[row] - 1) > 0.01
        for _ in range(3000):
            new = right_hand_sides(value, gpu_s, update_s, closed)
            if abs(new[0] / gpu_s - 1) + abs(new[1] / update_s - 1) < 1e-11:
                break
            gpu_s, update_s = 0.5 * (gpu_s + new[0]), 0.5 * (update_s + new[1])
        assert state.gpu_iteration_s[row] == pytest.approx(gpu_s, rel=1e-8)
        assert state.update_iteration_s[row] == pytest.approx(update_s, rel=1e-8)


def left_of_hold(hold_s: float, gap_s: float, gap_std_s: float) -> float:
    """E max(hold - max(gap, 0), 0)**2 of a normal gap, by quadrature."""

    def weighed(d: float) -> float:
        return (hold_s - d) ** 2 * density((d - gap_s) / gap_std_s) / gap_std_s

    between = integrate.quad(weighed, 0.0, hold_s, epsabs=0.0, epsrel=1e-11, limit=200)[0]
    return float(hold_s**2 * special.ndtr(-gap_s / gap_std_s) + between)


def density(z: float) -> float:
    return math.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)


def right_hand_sides(value: dict[str, float], gpu_s: float, update_s: float, closed: str) -> tuple[float, float]:
    """Both iterations for given periods, with second moments and E min of a truncated normal period."""
    n, nodes, std_s = int(value["n_gpus_per_node"]), value["n_nodes"], value["gpu_work_std_s"]
    fetch_s, deposit_s, sum_s, overwrite_s = (
        value[name] for name in ("fetch_weights_s", "update_gradient_s", "sum_gradient_s", "update_weights_s")
    )
    z, zero = (update_s - gpu_s) / std_s, -gpu_s / std_s
    shorter_s = gpu_s * special.ndtr(z) + update_s * special.ndtr(-z) - std_s * density(z)
    shorter_s -= gpu_s * special.ndtr(zero) - std_s * density(zero)
    p = min(shorter_s / gpu_s, 1.0)
    q = min(p * gpu_s / update_s, 1.0)
    eps = sum_s / gpu_s
    spread = sum((math.comb(j, i) * (1 + eps) ** (j - i) * eps**i) ** 2 for j in range(n) for i in range(j + 1)) / n
    barrier = sum_s * barrier_excess(n, np.array(p), np.array(nodes), np.array(spread))
    if closed == "convolution":
        barrier = barrier_wait(n, *(np.array([x]) for x in (p, nodes, spread, sum_s, deposit_s, gpu_s)))[0]
    sums_s2, fetches_s2, queue = p * sum_s**2, q * fetch_s**2, 1.0
    if closed == "phases":
        sums_s2 = left_of_hold(sum_s, gpu_s - update_s, std_s)
        fetches_s2 = left_of_hold(fetch_s, update_s - overwrite_s - gpu_s, std_s)
        gathered = special.ndtr((update_s - gpu_s) / max(std_s, 0.02 * gpu_s))
        queue = 1 / (1 - gathered * (n - 1) * q * fetch_s / gpu_s)
        gain = 1 + eps * special.ndtr((gpu_s - update_s) / std_s)
        later = np.sqrt(sum(gain ** (2 * j) for j in range(n)) / n)
        met = (min(deposit_s / gpu_s / p, 1), min(fetches_s2 / (fetch_s * gpu_s) / p, 1))
        buffer = FreshBuffer(*(np.array([x]) for x in (sum_s, deposit_s * later, met[0], fetch_s * gain**n, met[1])))
        barrier = fresh_barrier_wait(n, *(np.array([x]) for x in (p, nodes, spread)), buffer, np.zeros(1))[0]
    for_weights_s = queue * (overwrite_s**2 / (2 * update_s) + (n - 1) * q * fetch_s**2 / (2 * gpu_s))
    locks_gpu_s = for_weights_s + sums_s2 / (2 * update_s)
    locks_update_s = n * (deposit_s**2 + fetches_s2) / (2 * gpu_s)
    return (
        value["gpu_free_s"] + q * fetch_s + locks_gpu_s,
        value["update_free_s"] + n * p * sum_s + float(barrier) + locks_update_s,
    )


@pytest.mark.parametrize("closed", FORMS)
def test_the_solution_is_that_of_bisection(closed: str) -> None:
    """Bisection on ln rho over 28 units, one number of GPUs per node; the secant must agree to 1e-10."""
    times, run = random_case(np.random.default_rng(3), 60, jitter=True)
    run = RunGrid(run.n_nodes, np.array(3), run.subbatch_size, run.dataset_size)
    threads, form = coupled_threads(times, run), CLOSED_FORMS[closed]
    low, high = np.full(60, -14.0), np.full(60, 14.0)
    for _ in range(52):
        middle = 0.5 * (low + high)
        up = log_mismatch(threads, form, middle) > 0.0
        low, high = np.where(up, middle, low), np.where(up, high, middle)
    assert np.log(solve_iterations(times, run, closed).ratio) == pytest.approx(low, abs=1e-10)


def test_a_rough_answer_is_not_worked_out_again_at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search was there, of 28 rows once before its last step; the periods are the exact ones to a billionth."""
    times, run = varied_case(np.random.default_rng(6), 400)
    exact = solve_iterations(times, run, "second_moment")
    solve, ratios = equations.periods_at, []
    monkeypatch.setattr(equations, "periods_at", lambda *asked: (ratios.append(asked[2].copy()), solve(*asked))[1])
    rough = equations.solve_periods(times, run, "second_moment", ROUGH)
    asked = np.concatenate(ratios)
    assert len(asked) > 3 * 400
    assert len(asked) - len(np.unique(asked)) < 40
    assert rough.update_s == pytest.approx(exact.update_iteration_s, rel=1e-7)
    assert rough.gpu_s == pytest.approx(exact.gpu_iteration_s, rel=1e-7)


@pytest.mark.parametrize("closed", FORMS)
def test_a_grid_equals_its_rows_one_by_one(closed: str) -> None:
    """Grouping by GPUs per node and chunks change nothing; 5000 rows fill more than one chunk."""
    size = 5000 if closed in ("paper", "second_moment") else 300
    times, run = varied_case(np.random.default_rng(4), size)
    state = solve_iterations(times, run, closed)
    for row in (0, 17, size - 1):
        alone = solve_iterations(times.take([row]), run.take([row]), closed)
        for name in ("update_iteration_s", "gpu_iteration_s", *WAITS_S):
            assert getattr(state, name)[row] == pytest.approx(getattr(alone, name)[0], rel=1e-9)


@pytest.mark.parametrize("closed", FORMS)
def test_the_waits_that_are_shown_are_those_that_were_solved_with(closed: str) -> None:
    """Both iterations are the sum of their parts: 300 random systems of 1 to 8 GPUs, saturated locks included."""
    times, run = varied_case(np.random.default_rng(7), 300)
    assert solve_iterations(times, run, closed).residual.max() <= 1e-10


def test_one_more_axis_is_allowed() -> None:
    times, run = random_case(np.random.default_rng(5), 6, jitter=True)
    state = solve_iterations(times.scaled({"sum_gradient": np.array([[1.0], [0.5]])}), run)
    assert state.gpu_iteration_s.shape == (2, 6)
    half = solve_iterations(times.scaled({"sum_gradient": 0.5}), run)
    assert state.update_iteration_s[1] == pytest.approx(half.update_iteration_s, rel=1e-12)
    assert state.flags["clamp"].shape == (2, 6)


@pytest.mark.parametrize(("closed", "jitter"), [("paper", False), ("second_moment", False), ("second_moment", True)])
def test_random_systems_have_exactly_one_solution(closed: str, jitter: bool) -> None:
    times, run = random_case(np.random.default_rng(6), 1500, jitter)
    assert not solve_iterations(times, run, closed, check_unique=True).flags["several_roots"].any()


def test_random_systems_whose_holds_vary_have_exactly_one_solution() -> None:
    """``phases``, whose uniqueness is argued only where the lock on the weights is not saturated: one in eight is."""
    state = solve_iterations(*varied_case(np.random.default_rng(9), 120), "phases", check_unique=True)
    assert state.flags["weights_lock_saturated"].mean() > 0.05
    assert not state.flags["several_roots"].any()


def test_the_kfc_calibration_gives_the_predicted_columns_of_table_10(calibrated: Machine) -> None:
    times, run = calibrated("kfc", 8, [8, 4])
    state = solve_iterations(times, run, "paper")
    assert state.gpu_iteration_s == pytest.approx([0.71095, 0.44479], rel=1e-3)
    assert state.update_iteration_s == pytest.approx([0.22912, 0.29711], rel=1e-3)
    assert epoch_time(state.gpu_iteration_s, run) == pytest.approx([1779, 2226], rel=1e-3)
    assert mean_minibatch_size(state.gpu_iteration_s, state.update_iteration_s, run) == pytest.approx([165.0, 171.0], rel=1e-3)


def test_the_kfc_calibration_has_the_known_parts(calibrated: Machine) -> None:
    """Values computed with another solver, to their last printed digit."""
    times, run = calibrated("kfc", 8, [8, 4])
    state = solve_iterations(times, run, "paper")
    excess = [barrier_excess(8, p, np.array(8.0)) for p in state.ready_probability]
    assert excess == pytest.approx([1.918, 1.754], abs=6e-4)
    assert state.barrier_wait_s == pytest.approx([0.0476, 0.0435], abs=6e-5)
    assert state.lock_weights_gpu_s == pytest.approx([0.00096, 0.00124], abs=6e-6)
    assert state.lock_gradient_gpu_s == pytest.approx([0.00014, 0.00046], abs=6e-6)
    assert state.lock_gradient_update_s == pytest.approx([0.0051, 0.0081], abs=6e-5)
    assert state.lock_weights_update_s == pytest.approx([0.0007, 0.0011], abs=6e-5)


def test_the_tsubame2_calibration_has_the_known_values(calibrated: Machine) -> None:
    """(16,5), (16,4), (32,1), (16,3); at most 2.1 % from the publication's predictions."""
    times, run = calibrated("tsubame2", [16, 16, 32, 16], [5, 4, 1, 3])
    state = solve_iterations(times, run, "paper")
    epoch_s = epoch_time(state.gpu_iteration_s, run)
    minibatch = mean_minibatch_size(state.gpu_iteration_s, state.update_iteration_s, run)
    assert epoch_s == pytest.approx([2631, 2867, 3167, 3259], rel=5e-4)
    assert minibatch == pytest.approx([127.6, 117.9, 123.3, 104.0], rel=1e-3)
    assert epoch_s == pytest.approx([2614, 2840, 3227, 3257], rel=0.021)
    assert minibatch == pytest.approx([125, 118, 125, 105], rel=0.025)


def trap_times() -> tuple[ComponentTimes, RunGrid]:
    zero = np.zeros(1)
    times = ComponentTimes(
        fetch_weights_s=zero + 0.008,
        load_image_s=zero,
        deform_image_s=zero,
        compute_gradient_s=zero + 0.10,
        compute_update_value_s=zero,
        update_gradient_s=zero + 0.02,
        sum_gradient_s=zero + 0.0246,
        update_old_weights_s=zero,
        add_momentum_s=zero,
        allreduce_s=zero + 0.14,
        update_momentum_s=zero,
        update_weights_s=zero + 0.01,
        gpu_work_std_s=zero,
    )
    return times, RunGrid(np.array([8]), np.array([8]), np.array([1]), np.array([1000]))


def test_trap_probabilities_are_clamped() -> None:
    """With p = U/G above 1 the equations would give U = 10.51 s."""
    state = solve_iterations(*trap_times(), "paper")
    assert state.gpu_iteration_s == pytest.approx(0.12395, abs=1e-5)
    assert state.update_iteration_s == pytest.approx(0.35995, abs=1e-5)
    assert state.flags["clamp"].all()


def test_trap_sum_gradient_is_per_buffer() -> None:
    """Every one of n buffers costs sum_gradient_s when all are fresh."""
    times, run = trap_times()
    state = solve_iterations(times, run, "paper")
    rest_s = 0.15 + state.lock_gradient_update_s + state.lock_weights_update_s
    assert state.update_iteration_s - rest_s == pytest.approx(8 * 0.0246, rel=1e-9)


def test_trap_updates_slower_than_iterations_are_no_error() -> None:
    """N_mb > M n b is right when T_Update > T_GPU."""
    times, run = trap_times()
    state = solve_iterations(times, run, "paper")
    assert mean_minibatch_size(state.gpu_iteration_s, state.update_iteration_s, run) > 64


@pytest.mark.parametrize("closed", FORMS)
def test_trap_no_jitter_divides_by_nothing(closed: str) -> None:
    """Zero deviation is the limit of a small one."""
    times, run = trap_times()
    state = solve_iterations(times, run, closed)
    jittered = ComponentTimes(*(getattr(times, name) for name in times.__slots__[:12]), times.compute_gradient_s * 1e-7)
    nearly = solve_iterations(jittered, run, closed)
    assert np.isfinite(state.update_iteration_s).all()
    assert state.update_iteration_s == pytest.approx(nearly.update_iteration_s, rel=1e-6)


def test_flags_name_what_is_wrong() -> None:
    times, run = trap_times()
    calm = solve_iterations(times, run, "second_moment").flags
    assert calm["fetch_burst"].all()
    assert calm["phase_locking_risk"].all()
    assert not calm["weights_lock_saturated"].any()
    assert not calm["gradient_lock_busy"].any()
    assert solve_iterations(times.scaled({"fetch_weights": 20.0}), run).flags["weights_lock_saturated"].all()
    assert solve_iterations(times.scaled({"update_gradient": 3.0}), run).flags["gradient_lock_busy"].all()
    assert not solve_iterations(times.scaled({"fetch_weights": 0.1}), run).flags["fetch_burst"].any()
    assert not solve_iterations(times.scaled({"update_gradient": 0.05}), run).flags["phase_locking_risk"].any()


def test_a_free_barrier_coefficient_replaces_the_sum() -> None:
    times, run = random_case(np.random.default_rng(8), 20, jitter=False)
    values = [getattr(times, name) for name in times.__slots__[:13]]
    same = solve_iterations(ComponentTimes(*values, times.sum_gradient_s), run, "paper")
    none = solve_iterations(ComponentTimes(*values, np.zeros(20)), run, "paper")
    assert same.update_iteration_s == pytest.approx(solve_iterations(times, run, "paper").update_iteration_s, rel=1e-12)
    assert (none.barrier_wait_s == 0.0).all()


def test_wrong_input_is_refused() -> None:
    times, run = trap_times()
    with pytest.raises(UsageError, match="closed form 'exact'"):
        solve_iterations(times, run, "exact")
    with pytest.raises(DataError, match="update thread without work"):
        solve_iterations(times.scaled({"allreduce": 0.0, "update_weights": 0.0}), run)
    with pytest.raises(UsageError, match="broadcast"):
        solve_iterations(times.scaled({"fetch_weights": np.ones(3)}), RunGrid(*([np.ones(2, int)] * 4)))


def test_a_configuration_does_not_depend_on_the_others_solved_beside_it(calibrated: Machine) -> None:
    nodes, subbatch = (axis.ravel() for axis in np.meshgrid(np.arange(1, 101), np.arange(1, 101)))
    times, run = calibrated("kfc", nodes, subbatch, 0.2)
    every = solve_iterations(times, run, "second_moment").update_iteration_s
    some = np.arange(0, len(nodes), 997)
    alone = [solve_iterations(times.take([row]), run.take([row]), "second_moment").update_iteration_s[0] for row in some]
    assert every[some] == pytest.approx(alone, rel=1e-6)
