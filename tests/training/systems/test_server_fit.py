"""Think and service time found again from speeds of the event simulation and of a textbook queue."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import least_squares

from mlperf.core.errors import DataError, FitError
from mlperf.systems.coupling.queues import closed_queue
from mlperf.systems.parameter_server.simulate import ServerPlan, simulate_servers
from mlperf.training.systems.server_fit import fit_servers, think_and_service, updates_per_s

pytestmark = pytest.mark.slow

COUNTS = np.arange(1.0, 9.0)
ONES = np.ones(8)


def speeds(think: float, service: float, noise: float = 0.0, seed: int = 0) -> pd.DataFrame:
    """One to eight workers of one network."""
    exact = closed_queue(think, service, COUNTS).throughput_per_s
    drawn = exact * np.exp(noise * np.random.default_rng(seed).standard_normal(8))
    return pd.DataFrame({"cnn": f"net{service}", "n_workers": COUNTS, "updates_per_s": drawn})


@pytest.mark.parametrize(("think", "service"), [(1.0, 0.2), (0.03, 0.01), (2.0, 0.001), (0.0, 0.5), (7.0, 0.0)])
def test_exact_speeds_give_their_times_back(think: float, service: float) -> None:
    exact = closed_queue(think, service, COUNTS).throughput_per_s
    found = think_and_service(COUNTS, ONES, exact, 0.0)
    assert found == pytest.approx((think, service), rel=1e-5, abs=2e-4 * (think + service))


def test_the_fit_is_the_least_squares_one() -> None:
    """Scipy's from many starts finds nothing better."""
    measured = speeds(1.0, 0.2, noise=0.05, seed=3)["updates_per_s"].to_numpy()

    def miss(values: np.ndarray) -> np.ndarray:
        return np.asarray(closed_queue(np.exp(values[0]), np.exp(values[1]), COUNTS).throughput_per_s / measured - 1.0)

    best = min((least_squares(miss, [a, b]) for a in (-2.0, 0.0, 1.0) for b in (-4.0, -2.0, 0.0)), key=lambda each: each.cost)
    think, service = think_and_service(COUNTS, ONES, measured, 0.0)
    assert 0.5 * float((miss(np.log([think, service])) ** 2).sum()) <= best.cost * (1 + 1e-9)
    assert (think, service) == pytest.approx(tuple(np.exp(best.x)), rel=1e-4)


def test_simulated_workers_are_told_at_counts_that_were_not_fitted() -> None:
    """Computing varies by 30 %; 1, 4, 8 workers give the times to 5 % and the speeds between to 3 %."""
    rows = [(n, simulate_servers(ServerPlan([1.0] * n, 0.25, 0.3, n_services=30_000), seed=n).updates_per_s) for n in range(1, 9)]
    table = pd.DataFrame(rows, columns=["n_workers", "steps_per_s"])
    is_train = table["n_workers"].isin([1, 4, 8])
    model = fit_servers(table[is_train])
    (fit,) = model.fits
    assert fit.think_s == pytest.approx(1.0, rel=0.05)
    assert fit.service_s == pytest.approx(0.25, rel=0.05)
    test = table[~is_train]
    assert model.predict(test).updates_per_s == pytest.approx(test["steps_per_s"].to_numpy(), rel=0.03)


def test_standard_errors_are_those_of_repeated_measurements() -> None:
    fits = [fit_servers(speeds(1.0, 0.2, noise=0.03, seed=seed)) for seed in range(50)]
    scatter = np.std([[model.fits[0].think_s, model.fits[0].service_s] for model in fits], axis=0)
    told = np.mean([model.sigma * np.sqrt(np.diag(model.fits[0].covariance)) for model in fits], axis=0)
    assert told == pytest.approx(scatter, rel=0.25)
    assert np.mean([model.sigma for model in fits]) == pytest.approx(0.03, rel=0.1)


def test_several_servers_share_the_service() -> None:
    one = speeds(1.0, 0.4).assign(n_servers=1, cnn="net")
    four = speeds(1.0, 0.1).assign(n_servers=4, cnn="net")
    model = fit_servers(pd.concat([one, four]))
    assert len(model.fits) == 1
    assert model.fits[0].service_s == pytest.approx(0.4, rel=1e-4)


def test_service_times_are_learnt_from_features() -> None:
    """S = 2e-8 parameters + 1e-4 tensors, three networks: the fourth is told from its own speed on one worker."""
    tables = []
    for params, tensors, think in ((1e6, 50, 0.1), (4e6, 60, 0.3), (2e6, 200, 0.2), (3e6, 120, 0.25)):
        rows = speeds(think, 2e-8 * params + 1e-4 * tensors)
        tables.append(rows.assign(cnn=f"net{params}", n_params=params, n_tensors=tensors))
    unseen = tables.pop().assign(one_worker_updates_per_s=lambda rows: rows["updates_per_s"].iloc[0])
    model = fit_servers(pd.concat(tables), features=("n_params", "n_tensors"))
    assert model.service is not None
    assert model.service.estimator.coef_ == pytest.approx([2e-8, 1e-4], rel=1e-3)
    found = model.predict(unseen)
    assert found.updates_per_s == pytest.approx(unseen["updates_per_s"].to_numpy(), rel=1e-3)
    assert not found.measured_group.any()
    assert found.in_domain.all()


def test_left_out_worker_counts() -> None:
    exact = fit_servers(speeds(1.0, 0.2)).errors
    assert exact is not None
    assert exact.n == 8
    assert exact.max < 1e-4
    assert fit_servers(speeds(1.0, 0.2).iloc[[0, 7]]).errors is None


def test_times_are_taken_in_the_unit_that_their_name_ends_in() -> None:
    """Milliseconds are no updates a second, whichever way their column is named."""
    table = pd.DataFrame({"n_workers": [1.0, 4.0], "step_s": [0.1, 0.16]})
    known = [10.0, 25.0]
    assert updates_per_s(table).tolist() == pytest.approx(known)
    for name, factor in (("step_ms", 1e3), ("step_time_us", 1e6), ("median time (ms)", 1e3)):
        other = table.assign(**{name: factor * table["step_s"]}).drop(columns="step_s")
        assert updates_per_s(other, name).tolist() == pytest.approx(known)
    assert updates_per_s(table.assign(step_ms=[100.0, 160.0]).drop(columns="step_s")).tolist() == pytest.approx(known)
    assert updates_per_s(table.assign(speed=known), "speed").tolist() == known


def test_speeds_from_every_kind_of_column() -> None:
    table = pd.DataFrame({"n_workers": [2, 4], "subbatch_size": [16, 16], "samples_per_s": [32.0, 64.0], "step_s": [1.0, 1.0]})
    assert updates_per_s(table).tolist() == [2.0, 4.0]
    assert updates_per_s(table, "step_s").tolist() == [2.0, 4.0]
    assert updates_per_s(table.assign(rate=7.0), "rate").tolist() == [7.0, 7.0]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"n_workers": [1, 2]}), "expected one of updates_per_s"),
        (pd.DataFrame({"updates_per_s": [1.0, 2.0]}), "expected n_workers"),
        (pd.DataFrame({"n_workers": [1, 2], "updates_per_s": [1.0, -2.0]}), "row 2, column updates_per_s"),
        (pd.DataFrame({"n_workers": [1, 1.5], "updates_per_s": [1.0, 2.0]}), "row 2, column n_workers"),
        (pd.DataFrame({"n_workers": [1, 2], "samples_per_s": [1.0, 2.0]}), "without subbatch_size"),
        (pd.DataFrame({"n_workers": [], "updates_per_s": []}), "without rows"),
    ],
)
def test_tables_that_cannot_be_read(table: pd.DataFrame, message: str) -> None:
    with pytest.raises(DataError, match=message):
        fit_servers(table)


def test_one_worker_count_tells_nothing() -> None:
    with pytest.raises(FitError, match="got 1 worker count"):
        fit_servers(speeds(1.0, 0.2).iloc[[0]])


def test_features_must_be_there_and_agree_within_a_network() -> None:
    with pytest.raises(DataError, match="expected the feature 'n_params'"):
        fit_servers(speeds(1.0, 0.2), features=("n_params",))
    with pytest.raises(DataError, match="several values of 'n_params'"):
        fit_servers(speeds(1.0, 0.2).assign(n_params=COUNTS), features=("n_params",))
