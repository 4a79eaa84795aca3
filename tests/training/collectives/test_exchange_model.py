"""A trained exchange: zero alone, domain, extrapolation, intervals, storage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.studies.model_files import load_model, save_model
from mlperf.training.collectives.exchange_model import ExchangeModel
from mlperf.training.collectives.train_exchange import train_exchange


def ring_table(noise: float = 0.05, seed: int = 0) -> pd.DataFrame:
    """Rings of 2 to 16 over machines of 8: 10 us and 20 GB/s."""
    rng = np.random.default_rng(seed)
    n, size = (each.ravel() for each in np.meshgrid([2.0, 4.0, 8.0, 16.0], 2.0 ** np.arange(12, 28)))
    time_s = 2.0 * (n - 1.0) * (1e-5 + size / (n * 2e10)) * np.exp(noise * rng.standard_normal(len(n)))
    return pd.DataFrame({"n_gpus": n, "size_bytes": size, "exchange_s": time_s})


@pytest.fixture(scope="module")
def model() -> ExchangeModel:
    return train_exchange(ring_table())


def test_alone_nothing_is_exchanged_and_shapes_broadcast(model: ExchangeModel) -> None:
    answer = model.predict([[1], [2], [32]], [1e4, 1e6])
    assert answer.shape == (3, 2)
    assert answer[0].tolist() == [0.0, 0.0]
    assert (answer[1:] > 0.0).all()
    assert model.predict(4, 1e6) > 0.0


def test_domain_and_extrapolation(model: ExchangeModel) -> None:
    assert model.in_domain([1, 2, 3, 16, 16, 32], [1e5, 1e5, 1e5, 1e5, 1e12, 1e5]).tolist() == [
        *(True, True, False),
        *(True, False, False),
    ]
    assert model.extrapolated([1, 3, 16, 17]).tolist() == [False, False, False, True]
    assert model.extrapolated([16], [2]).tolist() == [True]


def test_intervals_cover_new_measurements(model: ExchangeModel) -> None:
    fresh = ring_table(seed=1)
    bounds = model.predict_interval(fresh["n_gpus"], fresh["size_bytes"], level=0.9)
    inside = ((bounds.lower <= fresh["exchange_s"]) & (fresh["exchange_s"] <= bounds.upper)).mean()
    assert 0.8 <= inside <= 1.0
    wider = model.predict_interval(32, 1e6, level=0.9)
    assert wider.upper / wider.lower >= bounds.upper[0] / bounds.lower[0] * (1 - 1e-9)


def test_a_stored_model_says_the_same(model: ExchangeModel, tmp_path: Path) -> None:
    save_model(model, tmp_path / "exchange.json")
    again = load_model(tmp_path / "exchange.json", "exchange")
    n, size = np.array([2.0, 3.0, 64.0]), np.array([1e4, 1e6, 1e8])
    assert (again.predict(n, size) == model.predict(n, size)).all()
    assert (again.predict_interval(n, size).upper == model.predict_interval(n, size).upper).all()
    assert again.to_frame().equals(model.to_frame())


def test_what_cannot_be_is_refused(model: ExchangeModel) -> None:
    for arguments, word in (((0, 1e6), "n_gpus"), ((4, 0.0), "size_bytes"), ((4, 1e6, 8), "n_nodes")):
        with pytest.raises(DataError, match=word):
            model.predict(*arguments)
