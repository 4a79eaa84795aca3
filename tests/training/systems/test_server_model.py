"""Predictions, intervals, domain and storage of fitted servers."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.systems.coupling.queues import closed_queue
from mlperf.training.systems.server_fit import fit_servers
from mlperf.training.systems.server_model import ServerFit, ServerModel, log_speed_gradient, std_errors_s, think_of

pytestmark = pytest.mark.slow

COUNTS = np.arange(1, 9)
NETWORKS = {"small": (0.1, 0.02, 1e6), "middle": (0.3, 0.05, 5e6), "large": (0.5, 0.1, 1e7)}


def measured(seed: int, noise: float = 0.04) -> pd.DataFrame:
    """Three networks on one to eight workers."""
    rng = np.random.default_rng(seed)
    tables = []
    for name, (think, service, params) in NETWORKS.items():
        exact = closed_queue(think, service, COUNTS).throughput_per_s
        drawn = exact * np.exp(noise * rng.standard_normal(8))
        tables.append(pd.DataFrame({"cnn": name, "n_workers": COUNTS, "updates_per_s": drawn, "n_params": params}))
    return pd.concat(tables, ignore_index=True)


@pytest.fixture(scope="module")
def model() -> ServerModel:
    return fit_servers(measured(0), features=("n_params",), provenance={"host": "here"})


def test_a_service_time_that_nobody_can_see_teaches_nothing_and_is_named() -> None:
    """One to eight workers of which each needs the server for a thousandth of its step."""
    idle = closed_queue(1.0, 0.001, COUNTS).throughput_per_s * np.exp(0.04 * np.random.default_rng(1).standard_normal(8))
    rows = pd.DataFrame({"cnn": "idle", "n_workers": COUNTS, "updates_per_s": idle, "n_params": 1e5})
    service = fit_servers(pd.concat([measured(0), rows]), features=("n_params",)).service
    assert service is not None
    assert (service.n_groups, service.set_aside) == (3, ("idle",))


def test_nine_of_ten_new_runs_lie_in_their_ninety_percent_interval() -> None:
    """Fitted on 1, 2, 4, 8 workers; a new run at every count."""
    inside = []
    for seed in range(30):
        table = measured(seed)
        found = fit_servers(table[table["n_workers"].isin([1, 2, 4, 8])]).predict(table, level=0.9)
        new = measured(seed + 1000)["updates_per_s"].to_numpy()
        inside.append(((found.lower <= new) & (new <= found.upper)).mean())
    assert np.mean(inside) == pytest.approx(0.9, abs=0.05)


def test_standard_errors_where_no_queue_is_seen_are_those_of_the_step_alone() -> None:
    """Speeds in proportion to the workers: one over Z of every row, so Z is known to sigma over the root of the rows."""
    rng, found = np.random.default_rng(3), []
    for _ in range(200):
        speeds = 10.0 * COUNTS * (1.0 + 0.01 * COUNTS) * np.exp(0.01 * rng.standard_normal(8))
        found.append(fit_servers(pd.DataFrame({"n_workers": COUNTS, "updates_per_s": speeds})).to_frame())
    rows = pd.concat(found)
    bound = rows[rows["service_s"] == 0.0]
    assert len(bound) > 150
    assert bound["service_std_err_s"].isna().all()
    # Each row's misfit to proportional growth counts in sigma, but is the same in every repeat.
    assert 0.8 * bound["think_s"].std() < bound["think_std_err_s"].mean() < 4.0 * bound["think_s"].std()
    assert (rows["think_std_err_s"].dropna() < rows["think_s"].max() + rows["service_s"].max()).all()


def test_a_standard_error_above_a_whole_step_is_none() -> None:
    covariance = np.array([[1e4, -1e4], [-1e4, 1e4]])
    fit = ServerFit(("a",), 0.1, 1e-7, covariance, 1e6, 8, 1, 8)
    assert np.isnan(std_errors_s(fit, 0.01)).all()
    assert std_errors_s(fit, 1e-4) == pytest.approx((0.01, 0.01))
    assert std_errors_s(replace(fit, service_s=0.0), 0.02)[0] == pytest.approx(0.02 * 0.1 / np.sqrt(8))


def test_domain_is_the_measured_networks_and_counts(model: ServerModel) -> None:
    asked = pd.DataFrame({"cnn": ["small", "small", "new", "new"], "n_workers": [8, 9, 4, 4], "n_params": [1e6, 1e6, 6e6, 5e7]})
    found = model.predict(asked.assign(one_worker_updates_per_s=5.0))
    assert found.in_domain.tolist() == [True, False, True, False]
    assert found.measured_group.tolist() == [True, True, False, False]
    assert (found.upper / found.lower)[2] > (found.upper / found.lower)[0]


def test_figures_belong_together(model: ServerModel) -> None:
    asked = pd.DataFrame({"cnn": "large", "n_nodes": [1, 2, 4], "n_gpus_per_node": 2})
    found = model.predict(asked)
    fit = next(each for each in model.fits if each.labels == ("large",))
    assert found.step_s == pytest.approx(np.array([2, 4, 8]) / found.updates_per_s)
    assert found.utilisation == pytest.approx(found.updates_per_s * fit.service_s)
    assert found.step_s == pytest.approx(fit.think_s + fit.service_s + found.wait_s)
    assert found.saturation_workers == pytest.approx([fit.saturation_workers] * 3)
    halved = model.predict(asked.assign(n_servers=2))
    assert (halved.updates_per_s > found.updates_per_s).all()
    assert len(found.to_frame()) == 3
    assert found.mean_staleness.tolist() == [1.0, 3.0, 7.0]
    assert found.prediction_interval.level == 0.95
    assert (found.prediction_interval.lower < found.updates_per_s).all()


def test_the_document_predicts_the_same_to_the_bit(model: ServerModel) -> None:
    again = ServerModel.from_dict(json.loads(json.dumps(model.to_dict())))
    asked = measured(1).assign(cnn=["small"] * 12 + ["new"] * 12, one_worker_updates_per_s=3.0)
    pd.testing.assert_frame_equal(again.predict(asked).to_frame(), model.predict(asked).to_frame(), check_exact=True)
    assert again.to_dict() == model.to_dict()
    pd.testing.assert_frame_equal(again.to_frame(), model.to_frame())


def test_a_document_that_was_changed_is_refused(model: ServerModel) -> None:
    document = json.loads(json.dumps(model.to_dict()))
    document["fits"][1]["think_s"] = -1.0
    with pytest.raises(DataError) as raised:
        ServerModel.from_dict(document)
    assert raised.value.place == "$.fits[1].think_s"


def test_networks_that_cannot_be_told(model: ServerModel) -> None:
    asked = pd.DataFrame({"cnn": ["new"], "n_workers": [4], "n_params": [2e6]})
    with pytest.raises(DataError, match="without one_worker_updates_per_s"):
        model.predict(asked)
    with pytest.raises(DataError, match="expected a speed > 0"):
        model.predict(asked.assign(one_worker_updates_per_s=0.0))
    with pytest.raises(DataError, match="new, which was not measured"):
        fit_servers(measured(0)).predict(asked)
    with pytest.raises(DataError, match="expected 'cnn'"):
        model.predict(asked.drop(columns="cnn"))


def test_two_rows_give_no_interval() -> None:
    found = fit_servers(measured(0).iloc[[0, 7]]).predict(measured(0).iloc[:8])
    assert np.isnan(found.lower).all()
    assert np.isfinite(found.updates_per_s).all()


def test_gradient_is_that_of_the_queue() -> None:
    """One worker: log X = -log(Z + S); many: -log S."""
    gradient = log_speed_gradient(1.0, 0.25, np.array([1.0, 500.0]), 1.0, 0.0)
    assert gradient == pytest.approx(np.array([[-0.8, -0.8], [0.0, -4.0]]), rel=1e-6, abs=1e-6)


def test_think_time_of_one_worker() -> None:
    assert think_of(np.array([2.0, 10.0]), np.array([0.1, 0.2])).tolist() == [0.4, 0.0]
