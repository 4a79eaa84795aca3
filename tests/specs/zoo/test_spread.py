"""Costs spread log-evenly; what cannot be drawn is refused."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import FitError, UsageError
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import Layer
from mlperf.specs.zoo import spread
from mlperf.specs.zoo.spread import spread_by_cost


def one_layer(name: str, rng: np.random.Generator) -> CnnSpec:
    return CnnSpec(name, 1, (1, 1), (Layer("fc", "fc", n_maps=int(np.exp(rng.uniform(0, 7)))),))


def test_one_network_in_each_part() -> None:
    found = spread_by_cost("net", 5, (1, 2), (2.0, 512.0), one_layer, "make")
    assert [cnn.name for cnn in found] == [f"net{number:02d}" for number in range(5)]
    assert np.histogram([cnn.n_macs for cnn in found], np.geomspace(2, 512, 6))[0].tolist() == [1] * 5
    assert found == spread_by_cost("net", 5, (1, 2), (2.0, 512.0), one_layer, "make")


def test_what_is_impossible_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "MAX_DRAWS", 10)
    with pytest.raises(FitError, match=r"make: found no network with 2e\+06 to 3e\+06"):
        spread_by_cost("net", 1, 0, (2e6, 3e6), one_layer, "make")
    with pytest.raises(UsageError, match="0 < low < high"):
        spread_by_cost("net", 1, 0, (3.0, 2.0), one_layer, "make")
