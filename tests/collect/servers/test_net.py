"""Chains of layers: counts against the specification's, stripes, rows needed, and what is refused."""

from __future__ import annotations

import pytest

from mlperf.collect.servers.net import Net, net_of, shipped_nets
from mlperf.core.errors import DataError
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import Layer


@pytest.mark.parametrize("cnn", shipped_nets().values(), ids=str)
def test_parameters_are_those_of_the_specification(cnn: CnnSpec) -> None:
    net = net_of(cnn)
    assert net.n_params == cnn.n_params
    assert len(net.first_weights(0)) == cnn.n_params


def test_stripes_cover_every_row_once_and_differ_by_one(conv: Net) -> None:
    for layer in conv.layers:
        for n_stripes in range(1, layer.rows + 1):
            bounds = [layer.bounds(n_stripes, stripe) for stripe in range(n_stripes)]
            assert [row for first, last in bounds for row in range(first, last)] == list(range(layer.rows))
            assert max(last - first for first, last in bounds) == -(-layer.rows // n_stripes)


def test_rows_needed_by_hand(conv: Net) -> None:
    first, pool, dense, _ = conv.layers
    assert first.needs(2, 4, 8) == (2, 6)
    assert pool.needs(1, 3, 6) == (2, 6)
    assert dense.needs(5, 6, 3) == (0, 3)
    assert first.span(3, 1) == (0, 30)
    assert dense.span(4, 1) == (30 + 3 * 28, 30 + 6 * 28)


def test_other_layers_and_functions_are_refused() -> None:
    with pytest.raises(DataError, match="'fc1' without tanh"):
        net_of(CnnSpec("relu", 1, 8, (Layer("fc1", "fc", n_maps=10), Layer("relu1", "activation"))))
    with pytest.raises(DataError, match="'conv1' \\(conv\\), which this trainer cannot run"):
        net_of(CnnSpec("padded", 1, 8, (Layer("conv1", "conv", n_maps=2, filter_size=3, padding=1),)))
