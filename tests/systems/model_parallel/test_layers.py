"""Shares, segments and working sets by hand; networks that cannot be cut."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from partition_networks import IMAGENET, MNIST

from mlperf.core.errors import DataError
from mlperf.systems.model_parallel.layers import (
    LayerTable,
    segment_params,
    share,
    state_exchanges,
    stripe_bounds,
    working_set_bytes,
)


def test_counts_of_the_example_networks() -> None:
    assert MNIST.all_params == 6_082_510
    assert IMAGENET.all_params == 44_515_300
    assert IMAGENET.n_connections.sum() == 369_503_232
    assert IMAGENET.rows.tolist() == [64, 32, 28, 14, 12, 10, 5, 4096, 4096, 100]
    assert IMAGENET.is_fc.tolist() == [False] * 7 + [True] * 3


def test_the_largest_stripe() -> None:
    assert share(np.array(10), np.array([1, 3, 10])) == pytest.approx([1.0, 0.4, 0.1])
    assert stripe_bounds(10, 3).tolist() == [0, 3, 6, 10]


def test_a_stripe_of_a_convolution_holds_every_kernel() -> None:
    stripes = np.array([1, 4])
    assert segment_params(IMAGENET, 0, stripes) == pytest.approx([15_616, 15_616])
    assert segment_params(MNIST, 0, stripes) == pytest.approx([1_570_000, 392_500])
    assert working_set_bytes(MNIST, 0, stripes, 4.0) == pytest.approx([4 * 1_572_000, 4 * 393_000])


def test_maps_behind_a_full_connection_are_refused() -> None:
    with pytest.raises(DataError, match="behind"):
        dataclasses.replace(MNIST, kind=("fc", "conv", "fc", "fc"))
    with pytest.raises(DataError, match="rnn"):
        dataclasses.replace(MNIST, kind=("fc", "rnn", "fc", "fc"))


def test_stripes_of_a_recurrence_tell_one_another_their_states() -> None:
    """Twelve units over seven steps: before six of them every stripe reads what the others hold."""
    table = LayerTable(
        "sequence",
        ("read", "out"),
        ("recurrent", "fc"),
        np.array([12, 3]),
        np.array([1.0, 1.0]),
        np.array([100.0, 36.0]),
        np.array([50.0, 39.0]),
        np.array([1, 1]),
        np.array([1, 1]),
        np.array([0, 0]),
        n_steps=np.array([7, 0]),
    )
    messages, values = state_exchanges(table, 0, np.array([1, 2, 5]))
    assert messages.tolist() == [0, 6, 6]
    assert values.tolist() == [0, 6 * 6, 6 * 10]
    assert [each.tolist() for each in state_exchanges(table, 1, np.array([3]))] == [[0], [0]]
    assert segment_params(table, 0, np.array([4])) == pytest.approx([12.5])
    assert table.n_state_connections.tolist() == [0, 0]
    assert table.n_functions.tolist() == [1, 1]
