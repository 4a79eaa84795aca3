"""Kinds of workers at one server against the recursion over all populations and an event simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.systems.coupling.mixed_queue import mixed_queue, mixed_queue_exact
from mlperf.systems.coupling.queues import closed_queue
from mlperf.systems.parameter_server.simulate import ServerPlan, simulate_servers

pytestmark = pytest.mark.slow


def over_populations(think: FloatArray, service: FloatArray, counts: FloatArray) -> FloatArray:
    """Throughputs by exact mean-value analysis: R_c(n) = S_c (1 + Q(n - e_c)) for every population n (Reiser and Lavenberg)."""
    length: dict[tuple[int, ...], float] = {}
    speeds = np.zeros(len(think))
    for population in itertools.product(*(range(int(count) + 1) for count in counts)):
        speeds, length[population] = np.zeros(len(think)), 0.0
        for kind, number in enumerate(population):
            if number:
                fewer = tuple(value - (place == kind) for place, value in enumerate(population))
                response = service[kind] * (1.0 + length[fewer])
                speeds[kind] = number / (think[kind] + response)
                length[population] += speeds[kind] * response
    return speeds


def test_exponential_service_is_the_recursion_over_all_populations() -> None:
    rng = np.random.default_rng(6)
    for _ in range(60):
        n_kinds = int(rng.integers(1, 4))
        counts = rng.integers(0, 9, n_kinds).astype(float)
        counts[0] += 1
        think = rng.uniform(0, 1, n_kinds) * 10.0 ** rng.integers(-3, 2)
        service = rng.uniform(0.01, 1.0, n_kinds)
        found = mixed_queue_exact(think, service, counts)
        assert found.throughput_per_s == pytest.approx(over_populations(think, service, counts), rel=1e-11)


def test_hundreds_of_equal_workers_are_one_kind() -> None:
    found = mixed_queue_exact([1.0, 1.0], 0.004, [150, 200])
    alone = closed_queue(1.0, 0.004, 350, 1.0)
    assert found.throughput_per_s.sum() == pytest.approx(float(alone.throughput_per_s), rel=1e-11)
    constant = mixed_queue([[1.0, 1.0]], 0.004, [[150, 200]], 0.0)
    assert constant.throughput_per_s.sum() == pytest.approx(float(closed_queue(1.0, 0.004, 350).throughput_per_s), rel=1e-10)


@pytest.mark.parametrize(("counts", "within"), [((2, 2), 0.005), ((4, 4), 0.01), ((8, 8), 0.02), ((16, 16), 0.01)])
def test_constant_service_against_a_simulation(counts: tuple[int, int], within: float) -> None:
    """Workers of two speeds whose times vary by 30 %; the server is full from about 15 on."""
    work = [1.0] * counts[0] + [2.0] * counts[1]
    simulated = simulate_servers(ServerPlan(work, 0.1, work_variation=0.3, n_services=100_000), seed=4)
    measured = simulated.worker_updates_per_s
    found = mixed_queue([1.0, 2.0], 0.1, counts).throughput_per_s
    assert found == pytest.approx([measured[: counts[0]].sum(), measured[counts[0] :].sum()], rel=within)


def test_a_server_is_never_asked_for_more_than_its_time() -> None:
    rng = np.random.default_rng(7)
    think, service = rng.uniform(0, 1, (500, 3)), rng.uniform(0.01, 0.3, (500, 1))
    found = mixed_queue(think, service, rng.integers(1, 30, (500, 3)), 0.0)
    assert (found.utilisation <= 1.0 + 1e-12).all()
    assert (found.response_s >= service - 1e-15).all()


def test_a_kind_without_workers_changes_nothing() -> None:
    two, three = mixed_queue_exact([1.0, 2.0], 0.1, [3, 4]), mixed_queue_exact([1.0, 2.0, 9.0], 0.1, [3, 4, 0])
    assert three.throughput_per_s == pytest.approx([*two.throughput_per_s, 0.0], rel=1e-12)


def test_what_is_no_mixture() -> None:
    with pytest.raises(DataError, match="one for each kind"):
        mixed_queue(1.0, 0.1, 3)
    with pytest.raises(DataError, match="fewer than one worker"):
        mixed_queue([1.0, 2.0], 0.1, [0, 0])
