"""Layers of a network as rows to cut: kinds that fold, windows, and what cannot be cut."""

from __future__ import annotations

import pytest

from mlperf.core.errors import DataError
from mlperf.features.network.partition import layer_table
from mlperf.specs.network.cnn import CnnSpec, Layer
from mlperf.specs.zoo.zoo import load_cnn


def test_vgg_keeps_every_weight_and_multiply_add() -> None:
    cnn = load_cnn("vgg16")
    table = layer_table(cnn)
    assert table.all_params == cnn.n_params
    pools = [at for at, kind in enumerate(table.kind) if kind == "pool"]
    assert table.n_connections.sum() - table.n_connections[pools].sum() == cnn.n_macs
    assert set(table.kind) == {"conv", "pool", "fc"}


def test_windows_and_rows_by_hand() -> None:
    layers = (
        Layer("conv", "conv", n_maps=6, filter_size=(3, 5), stride=(2, 1), padding=(1, 2), dilation=(2, 1)),
        Layer("relu", "activation"),
        Layer("pool", "pool", filter_size=(2, 2)),
        Layer("flat", "flatten"),
        Layer("fc", "fc", n_maps=7),
        Layer("probabilities", "softmax"),
    )
    cnn = CnnSpec("hand", 2, (21, 10), layers)
    table = layer_table(cnn)
    assert table.layers == ("conv", "pool", "fc")
    assert table.rows.tolist() == [10, 5, 7]
    assert table.per.tolist() == [60, 30, 1]
    assert (table.kernel[0], table.stride[0], table.pad[0]) == (5, 2, 1)
    assert table.n_connections.tolist() == [600 * 30, 150 * 4, 7 * 150]
    assert table.n_params.tolist() == [6 * 31, 0, 7 * 151]


def test_adaptive_pools_have_their_largest_window() -> None:
    layers = (Layer("conv", "conv", n_maps=2, filter_size=(1, 1)), Layer("pool", "pool", mode="average", output_size=(1, 1)))
    table = layer_table(CnnSpec("global", 1, (9, 9), (*layers, Layer("fc", "fc", n_maps=3))))
    assert (table.kernel[1], table.stride[1], table.n_connections[1]) == (9, 9, 2 * 81)


@pytest.mark.parametrize(("name", "named"), [("resnet18", "batch_norm|inputs"), ("vit_b_16", "tokens|kind")])
def test_what_cannot_be_cut_is_refused_by_name(name: str, named: str) -> None:
    with pytest.raises(DataError, match=named):
        layer_table(load_cnn(name))


@pytest.mark.parametrize(("select", "handed_on"), [(True, 1), (False, 7)])
def test_a_recurrence_by_hand(select: bool, handed_on: int) -> None:
    """Seven steps, six units in each direction, four gates: connections of input and state, and what goes up."""
    chosen = (Layer("drop", "dropout"), Layer("last", "select_token")) if select else ()
    layers = (Layer("read", "recurrent", n_maps=6, bidirectional=True), *chosen, Layer("out", "fc", n_maps=3))
    cnn = CnnSpec("sequence", 5, (7, 1), layers)
    table = layer_table(cnn)
    assert table.kind == ("recurrent", "fc")
    assert table.is_fc.tolist() == [True, True]
    assert table.rows.tolist() == [12, 3]
    assert table.per.tolist() == [handed_on, 1]
    assert table.n_steps.tolist() == [7, 0]
    assert table.n_connections.tolist() == [7 * 2 * 4 * 6 * 11, 3 * 12 * handed_on]
    assert table.n_state_connections.tolist() == [7 * 2 * 4 * 36, 0]
    # Five functions of each unit at each step, however many steps are handed on.
    assert (table.n_neurons * table.n_functions).tolist() == [5 * 12 * 7, 3]
    assert table.all_params == cnn.n_params


def test_a_token_is_selected_behind_a_recurrence_only() -> None:
    layers = (Layer("conv", "conv", n_maps=2, filter_size=(1, 1)), Layer("one", "select_token"), Layer("out", "fc", n_maps=3))
    with pytest.raises(DataError, match="without a recurrent layer"):
        layer_table(CnnSpec("wrong", 5, (7, 1), layers))
