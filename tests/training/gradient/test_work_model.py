"""Steps by their work: several networks tell operations from bytes, one does not and says so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.features.network.steps import step_columns
from mlperf.specs import make_cnns
from mlperf.training.gradient.work_model import BALANCES, fit_work

CNNS = {cnn.name: cnn for cnn in make_cnns(6, seed=4)}


def steps(balance: float) -> pd.DataFrame:
    """Steps of a machine that does 50 GFLOP/s and takes ``balance`` operations' time to move a byte."""
    pairs = pd.DataFrame([(name, size) for name in CNNS for size in (1, 4)], columns=["cnn", "subbatch_size"])
    table = step_columns(pairs, CNNS)
    return table.assign(time_s=(table["step_flops"] + balance * table["step_bytes"]) / 50e9)


@pytest.mark.parametrize("balance", [3.0, 30.0])
def test_another_network_is_predicted_from_five(balance: float) -> None:
    table = steps(balance)
    last = table["cnn"] == table["cnn"].iloc[-1]
    found = fit_work(table[~last]).fitted.predict(table[last])
    assert found == pytest.approx(table.loc[last, "time_s"].to_numpy(), rel=0.02)


def test_one_network_leaves_the_balance_open_inside_its_interval() -> None:
    table = steps(10.0)
    first = table["cnn"] == table["cnn"].iloc[0]
    model = fit_work(table[first])
    assert len(model.fitted.forms_) > len(BALANCES) // 4
    interval = model.fitted.predict_interval(table[~first])
    truth = table.loc[~first, "time_s"].to_numpy()
    assert np.mean((interval.lower <= truth) & (truth <= interval.upper)) >= 0.9


def test_it_stands_where_kernels_stand() -> None:
    model = fit_work(steps(10.0))
    calls = model.calls([(cnn, 2) for cnn in CNNS.values()])
    assert calls["run"].tolist() == list(range(6))
    assert model.call_times(calls).shape == (6,)
    assert model.calls_in_domain(calls).shape == (6,)
    ratios = model.step_ratios(calls, np.random.default_rng(0), 300, "mean")
    assert np.median(ratios, axis=0) == pytest.approx(np.ones(6), abs=0.05)
    assert dict(model.kernels) == {}
    assert model.sgemm is None
