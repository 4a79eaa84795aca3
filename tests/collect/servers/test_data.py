"""Digits enlarged to what a network reads."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.collect.servers.data import digits_for
from mlperf.collect.servers.net import net_of, shipped_nets
from mlperf.core.errors import DataError
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import Layer


def test_every_element_is_repeated() -> None:
    small, large = (digits_for(net_of(cnn)) for cnn in shipped_nets().values())
    assert small.images.shape[1:] == (8, 8)
    assert large.images.shape[1:] == (16, 16)
    assert np.array_equal(large.images[:, 1::2, ::2], small.images)
    assert 0.0 <= small.images.min() < small.images.max() <= 1.0
    assert set(small.labels) == set(range(10))


def test_another_network_is_refused() -> None:
    cnn = CnnSpec("odd", 1, (9, 9), (Layer("fc1", "fc", n_maps=10), Layer("tanh1", "activation", function="tanh")))
    with pytest.raises(DataError, match="9 x 9 x 1 elements"):
        digits_for(net_of(cnn))
