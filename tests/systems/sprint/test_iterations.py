"""Both iterations at a given ratio against Tables 3 and 4 of the SPRINT paper, entered term by term."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.systems.coupling.barrier import barrier_excess, buffer_overdispersion
from mlperf.systems.sprint import iterations
from mlperf.systems.sprint.iterations import CLOSED_FORMS, CoupledThreads, gpu_period_at, log_mismatch, log_ratio_guess, periods_at

pytestmark = pytest.mark.slow

N_GPUS = 3
N_SYSTEMS = 120


def random_threads(seed: int, **changed: float) -> CoupledThreads:
    """Systems from light to saturated."""
    rng = np.random.default_rng(seed)

    def seconds(low: float, high: float) -> np.ndarray:
        return np.exp(rng.uniform(np.log(low), np.log(high), N_SYSTEMS))

    names = ("fetch_weights_s", "update_gradient_s", "sum_gradient_s", "update_weights_s")
    holds = {name: seconds(1e-4, 3e-2) for name in names}
    waits = ("lock_weights_gpu", "lock_gradient_gpu", "lock_gradient_update", "lock_weights_update", "barrier_wait")
    zero, one = np.zeros(N_SYSTEMS), np.ones(N_SYSTEMS)
    given = holds | {f"{name[:-2]}_std_s": zero for name in names} | {f"{name}_factor": one for name in waits}
    given |= {
        "gpu_free_s": seconds(0.02, 0.5),
        "update_free_s": seconds(0.02, 0.5),
        "barrier_per_buffer_s": holds["sum_gradient_s"],
    }
    given |= {
        "gpu_work_std_s": zero,
        "update_work_std_s": zero,
        "work_before_share": zero,
        "n_nodes": rng.integers(1, 65, N_SYSTEMS).astype(float),
    }
    given |= {name: np.full(N_SYSTEMS, value) for name, value in changed.items()}
    return CoupledThreads(n_gpus_per_node=np.full(N_SYSTEMS, N_GPUS), **given)


@pytest.mark.parametrize("log_ratio", [-1.5, -0.3, 0.0, 0.4, 2.0])
def test_the_paper_s_form_is_its_tables(log_ratio: float) -> None:
    """T_GPU with T_Update = rho T_GPU, and T_Update with T_GPU = T_Update / rho."""
    threads, ratio = random_threads(1), np.exp(log_ratio)
    at = periods_at(threads, CLOSED_FORMS["paper"], np.full(N_SYSTEMS, log_ratio))
    fetch_s = threads.fetch_weights_s * min(1.0 / ratio, 1.0)
    sum_s = threads.sum_gradient_s * min(ratio, 1.0)

    gpu_s, update_s = at.gpu_s, ratio * at.gpu_s
    lock_weights_s = threads.update_weights_s**2 / (2 * update_s) + (N_GPUS - 1) * fetch_s**2 / (2 * gpu_s)
    lock_gradient_s = sum_s**2 / (2 * update_s)
    assert gpu_s == pytest.approx(threads.gpu_free_s + fetch_s + lock_weights_s + lock_gradient_s, rel=1e-12)

    update_s, gpu_s = at.update_s, at.update_s / ratio
    lock_gradient_s = N_GPUS * threads.update_gradient_s**2 / (2 * gpu_s)
    lock_weights_s = N_GPUS * fetch_s**2 / (2 * gpu_s)
    excess = barrier_excess(N_GPUS, np.full(N_SYSTEMS, min(ratio, 1.0)), threads.n_nodes)
    parts_s = N_GPUS * sum_s + lock_gradient_s + lock_weights_s + threads.sum_gradient_s * excess
    assert update_s == pytest.approx(threads.update_free_s + parts_s, rel=1e-12)


def test_the_barrier_is_worked_out_only_where_a_buffer_may_be_old(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all are fresh, E max - E of n buffers is 0 to the last bit; the others wait as they do alone."""
    asked: list[np.ndarray] = []
    monkeypatch.setattr(iterations, "barrier_excess", lambda n, p, *rest: (asked.append(p), barrier_excess(n, p, *rest))[1])
    threads, log_ratio = random_threads(4, gpu_work_std_s=1e-3), np.linspace(-3.0, 3.0, N_SYSTEMS)
    at = periods_at(threads, CLOSED_FORMS["second_moment"], log_ratio)
    fresh = at.ready_probability == 1.0
    assert 20 < fresh.sum() < 100
    assert asked[0].tolist() == at.ready_probability[~fresh].tolist()
    spread = buffer_overdispersion(N_GPUS, threads.sum_gradient_s / at.gpu_s)
    every = threads.barrier_per_buffer_s * barrier_excess(N_GPUS, at.ready_probability, threads.n_nodes, spread)
    assert at.barrier_wait_s.tolist() == every.tolist()


@pytest.mark.parametrize("form", CLOSED_FORMS)
def test_threads_that_share_nothing_take_their_own_time(form: str) -> None:
    holds = ("fetch_weights_s", "update_gradient_s", "sum_gradient_s", "update_weights_s", "barrier_per_buffer_s")
    threads = random_threads(2, **dict.fromkeys(holds, 0.0))
    at = periods_at(threads, CLOSED_FORMS[form], log_ratio_guess(threads))
    assert at.gpu_s == pytest.approx(threads.gpu_free_s, rel=1e-12)
    assert at.update_s == pytest.approx(threads.update_free_s, rel=1e-12)
    assert log_mismatch(threads, CLOSED_FORMS[form], log_ratio_guess(threads)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("form", CLOSED_FORMS)
def test_the_mismatch_changes_its_sign_once(form: str) -> None:
    """Positive below the solution and negative above it, on a grid over e**-4 to e**4."""
    threads = random_threads(3)
    grid = np.linspace(-4.0, 4.0, 41)
    signs = np.sign([log_mismatch(threads, CLOSED_FORMS[form], np.full(N_SYSTEMS, each)) for each in grid])
    assert (np.diff(signs, axis=0) <= 0).all()
    assert (signs[0] > 0).all()
    assert (signs[-1] < 0).all()


def test_a_factor_scales_its_wait_alone() -> None:
    threads = random_threads(4)
    log_ratio = log_ratio_guess(threads)
    plain = periods_at(threads, CLOSED_FORMS["paper"], log_ratio)
    without = periods_at(random_threads(4, barrier_wait_factor=0.0), CLOSED_FORMS["paper"], log_ratio)
    assert np.array_equal(without.gpu_s, plain.gpu_s)
    assert (without.barrier_wait_s == 0.0).all()
    assert (without.update_s <= plain.update_s).all()


def test_the_gpu_period_of_a_known_update_is_that_of_the_ratio_between_them() -> None:
    threads = random_threads(5, gpu_work_std_s=0.002)
    found = gpu_period_at(threads, CLOSED_FORMS["second_moment"], np.full(N_SYSTEMS, 0.2))
    again = periods_at(threads, CLOSED_FORMS["second_moment"], np.log(found.update_s / found.gpu_s))
    assert again.gpu_s == pytest.approx(found.gpu_s, rel=1e-10)
    assert again.ready_probability == pytest.approx(found.ready_probability, rel=1e-10)


def test_configurations_are_taken_by_row() -> None:
    few = random_threads(6).take(np.array([3, 5]))
    assert few.n == N_GPUS
    assert few.gpu_free_s.tolist() == random_threads(6).gpu_free_s[[3, 5]].tolist()
