"""Counts of the example networks, shares of stripes, and networks that are refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from partition_examples import IMAGENET100, MNIST

from mlperf.core.errors import DataError
from mlperf.systems.model_parallel.layers import segment_params, share, stripe_bounds, working_set_bytes


def test_counts_of_the_example_networks() -> None:
    assert MNIST.all_params == 785 * 2000 + 2001 * 1500 + 1501 * 1000 + 1001 * 10 == 6_082_510
    assert IMAGENET100.all_params == 44_515_300
    assert IMAGENET100.n_connections.sum() == 369_503_232
    assert IMAGENET100.rows.tolist() == [64, 32, 28, 14, 12, 10, 5, 4096, 4096, 100]
    assert IMAGENET100.n_neurons[:2].tolist() == [64 * 64 * 64, 32 * 32 * 64]


def test_the_largest_stripe_is_the_last_share() -> None:
    for rows in (1, 5, 12, 28):
        for n_stripes in range(1, rows + 1):
            bounds = stripe_bounds(rows, n_stripes)
            assert bounds[0] == 0
            assert bounds[-1] == rows
            assert np.diff(bounds).max() / rows == pytest.approx(float(share(np.array(rows), np.array(n_stripes))))
            assert np.diff(bounds).min() == rows // n_stripes


def test_a_stripe_of_maps_holds_all_kernels() -> None:
    four = np.array([4])
    assert segment_params(IMAGENET100, 0, four)[0] == 64 * (9 * 9 * 3 + 1)
    assert segment_params(MNIST, 1, four)[0] == 2001 * 1500 / 4
    assert working_set_bytes(MNIST, 1, four, 4.0)[0] == 4 * (2001 * 1500 / 4 + 1500 / 4)


def test_what_no_chain_of_stripes_is_is_refused() -> None:
    with pytest.raises(DataError, match="got kind 'attention', expected one of fc, conv, pool"):
        dataclasses.replace(MNIST, kind=("fc", "attention", "fc", "fc"))
    with pytest.raises(DataError, match="behind a fully connected layer"):
        dataclasses.replace(MNIST, kind=("fc", "conv", "fc", "fc"))
