"""The closed queue against exact fractions, asymptotes and an event simulation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.systems.coupling.queues import FEW, closed_queue, saturation_workers, throughput_bounds
from mlperf.systems.parameter_server.simulate import ServerPlan, simulate_servers


def repairman(think: Fraction, service: Fraction, n_workers: int) -> Fraction:
    """Throughput of the machine repairman: the server is idle for Erlang's loss probability B(N, Z/S) of the time."""
    load, loss = think / service, Fraction(1)
    for n in range(1, n_workers + 1):
        loss = load * loss / (n + load * loss)
    return (1 - loss) / service


@pytest.mark.parametrize("n_workers", [1, 2, 5, 40, 300])
@pytest.mark.parametrize(("think", "service"), [("1", "1/10"), ("1/1000", "3"), ("7", "1/100"), ("0", "1")])
def test_exponential_service_is_the_machine_repairman_to_rounding(think: str, service: str, n_workers: int) -> None:
    exact = float(repairman(Fraction(think), Fraction(service), n_workers))
    found = closed_queue(float(Fraction(think)), float(Fraction(service)), n_workers, service_scv=1.0)
    assert float(found.throughput_per_s) == pytest.approx(exact, rel=3e-14)


@pytest.mark.parametrize(("n_workers", "within"), [(2, 0.008), (8, 0.01), (16, 0.03), (32, 0.008)])
def test_constant_service_against_a_simulation(n_workers: int, within: float) -> None:
    """Think times vary by 30 %; the residual S/2 is that of random arrivals, which bunch least near saturation (11 workers)."""
    simulated = simulate_servers(ServerPlan([1.0] * n_workers, 0.1, work_variation=0.3), seed=1)
    found = float(closed_queue(1.0, 0.1, n_workers).throughput_per_s)
    assert found == pytest.approx(simulated.updates_per_s, rel=within)


def test_two_workers_with_constant_service_by_hand() -> None:
    """R(2) = S + U(1) S/2 with U(1) = S / (Z + S)."""
    found = closed_queue(0.9, 0.1, 2, service_scv=0.0)
    assert float(found.wait_s) == pytest.approx(0.1 * 0.1 / 2, rel=1e-14)
    assert float(found.throughput_per_s) == pytest.approx(2 / 1.005, rel=1e-14)


def test_asymptotes() -> None:
    think, service = np.array([1.0, 1.0, 0.0, 3.0]), np.array([0.1, 0.1, 0.5, 0.0])
    alone = closed_queue(think, service, 1)
    assert alone.throughput_per_s == pytest.approx(1 / (think + service), rel=1e-15)
    assert (alone.wait_s == 0.0).all()
    many = closed_queue(think[:3], service[:3], 10_000)
    assert many.throughput_per_s == pytest.approx(1 / service[:3], rel=1e-9)
    assert many.utilisation == pytest.approx(1.0, rel=1e-9)
    assert float(closed_queue(3.0, 0.0, 50).throughput_per_s) == pytest.approx(50 / 3, rel=1e-15)


@pytest.mark.parametrize("scv", [0.0, 0.5, 1.0])
def test_throughput_lies_between_the_bounds_and_rises(scv: float) -> None:
    rng = np.random.default_rng(3)
    think, service = 10.0 ** rng.uniform(-3, 1, (2, 200, 1))
    n_workers = np.arange(1, 60)
    least, largest = throughput_bounds(think, service, n_workers)
    found = closed_queue(think, service, n_workers, scv).throughput_per_s
    assert (found >= least * (1 - 1e-12)).all()
    assert (found <= largest * (1 + 1e-12)).all()
    assert (np.diff(found, axis=1) >= -1e-12 * found[:, 1:]).all()


def test_littles_law_and_one_pass_for_all() -> None:
    """Configurations of different sizes together are what each is alone."""
    rng = np.random.default_rng(4)
    think, service, scv = rng.uniform(0.1, 1, 300), rng.uniform(0.01, 0.2, 300), rng.uniform(0, 2, 300)
    n_workers = rng.integers(1, 80, 300)
    found = closed_queue(think, service, n_workers, scv)
    alone = [float(closed_queue(*each).response_s) for each in zip(think, service, n_workers, scv, strict=True)]
    assert found.response_s == pytest.approx(np.array(alone), rel=1e-15)
    assert found.queue_length == pytest.approx(n_workers - found.throughput_per_s * think, rel=1e-12)
    assert found.utilisation == pytest.approx(found.throughput_per_s * service, rel=1e-15)


def recursion(think: float, service: float, workers: int, scv: float) -> float:
    """The response by the recursion as it is written, worker by worker to the last."""
    response = service
    for n in range(2, workers + 1):
        rate = (n - 1) / (think + response)
        found = service + rate * (response * service - service * service * (0.5 - 0.5 * scv))
        response = max(found, n * service - think)
    return response


@pytest.mark.parametrize("scv", [0.0, 0.3, 1.0, 2.5])
def test_queues_alike_and_full_servers_are_those_of_the_plain_recursion(scv: float) -> None:
    rng = np.random.default_rng(1)
    think, service = rng.gamma(1.0, 1.0, 30)[:, None], rng.gamma(1.0, 0.1, 30)[:, None]
    think[0], service[1] = 0.0, 0.0
    workers = rng.integers(1, 400, (30, 20))
    found = closed_queue(think, service, workers, scv).response_s
    plain = [
        [recursion(float(z), float(s), int(n), scv) for n in row]
        for z, s, row in zip(think[:, 0], service[:, 0], workers, strict=True)
    ]
    assert np.allclose(found, plain, rtol=1e-13, atol=0.0)


def test_few_configurations_are_what_they_are_among_many() -> None:
    """Queues alike go through the recursion as one where there are many configurations, and each for itself where there are few."""
    rng = np.random.default_rng(6)
    think, service, scv = rng.gamma(1.0, 1.0, 3 * FEW), rng.choice([0.0, 0.01, 0.3], 3 * FEW), rng.choice([0.0, 1.0, 2.0], 3 * FEW)
    n_workers = rng.integers(1, 60, 3 * FEW)
    together = closed_queue(think, service, n_workers, scv).response_s
    parts = [
        closed_queue(*each).response_s for each in zip(*(np.split(one, 3) for one in (think, service, n_workers, scv)), strict=True)
    ]
    assert np.array_equal(together, np.concatenate(parts))


def test_saturation_point_is_where_the_asymptotes_cross() -> None:
    think, service = np.array([0.9, 3.0]), np.array([0.1, 0.5])
    full = saturation_workers(think, service)
    assert full == pytest.approx([10.0, 7.0])
    assert full / (think + service) == pytest.approx(1 / service)
    assert float(saturation_workers(1.0, 0.0)) == np.inf


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((-1.0, 0.1, 2), "got -1 for the think time"),
        ((1.0, np.inf, 2), "got inf for the service time"),
        ((1.0, 0.1, 2.5), "got 2.5 for the number of workers"),
        ((1.0, 0.1, 0), "got 0 for the number of workers"),
        ((0.0, 0.0, 2), "think and service time together"),
    ],
)
def test_what_is_no_queue(given: tuple[float, float, float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        closed_queue(*given)
