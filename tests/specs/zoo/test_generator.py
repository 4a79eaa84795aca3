"""The population of a campaign: spread, bounds, repeatability."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import FitError, UsageError
from mlperf.specs.kernels.kernels import kernel_calls
from mlperf.specs.zoo.generator import make_cnns

pytestmark = pytest.mark.slow

FORTY = make_cnns()


def test_networks_are_those_of_the_design():
    """Inputs 24 to 100, 2 to 10 convolutions of 3 x 3, 1 to 3 fully connected layers, widths 8 to 256, exact pooling."""
    assert [cnn.name for cnn in FORTY] == [f"cnn{number:02d}" for number in range(40)]
    for cnn in FORTY:
        form = cnn.sprint_form()
        assert 24 <= form.sizes[0] <= 100
        assert 2 <= form.n_conv <= 10
        assert 1 <= form.n_layers - form.n_conv <= 3
        assert all(8 <= maps <= 256 for maps in form.n_maps[1:])
        assert form.n_params == cnn.n_params <= 8_000_000


def test_step_costs_span_two_orders_of_magnitude():
    macs = np.array([cnn.n_macs for cnn in FORTY])
    moved = np.array([sum(call.moved_bytes for call in kernel_calls(cnn, 1)) for cnn in FORTY])
    assert macs.max() / macs.min() > 100
    assert moved.max() / moved.min() > 50


def test_a_round_is_affordable_on_one_core():
    """One step of every network at 1, 2, 4 and 8 samples: 25 s at 50 GFLOP/s; the largest 0.6 s at 60."""
    macs = [cnn.n_macs for cnn in FORTY]
    assert 6 * 15 * sum(macs) / 50e9 < 25
    assert 6 * 8 * max(macs) / 60e9 < 0.6


def test_costs_are_spread_evenly_on_a_logarithmic_scale():
    """A quarter of the networks in each quarter of the range, within the two that straddle an edge."""
    cost = np.array(
        [cnn.n_macs + 25 * sum(call.access_bytes // 4 for call in kernel_calls(cnn, 1) if call.kernel == "im2col") for cnn in FORTY]
    )
    counts, _ = np.histogram(cost, np.geomspace(3e6, 6e8, 5))
    assert list(counts) == [10, 10, 10, 10]


def test_names_do_not_follow_cost():
    """Every fifth network in name order is held out: that must not be a choice by cost."""
    macs = np.log([cnn.n_macs for cnn in FORTY])
    assert abs(np.corrcoef(macs, np.arange(40))[0, 1]) < 0.4
    assert abs(macs[::5].mean() - macs.mean()) < macs.std()


def test_the_seed_decides():
    assert make_cnns(3, seed=5) == make_cnns(3, seed=5)
    assert make_cnns(3, seed=5) != make_cnns(3, seed=6)
    assert len(make_cnns(101, seed=1, cost=(1e7, 1e8))[100].name) == len("cnn100")


def test_all_networks_differ():
    assert len({(cnn.input_size, cnn.layers) for cnn in FORTY}) == 40


def test_impossible_requests_say_so():
    with pytest.raises(UsageError, match="n >= 1"):
        make_cnns(0)
    with pytest.raises(FitError, match="found no network"):
        make_cnns(1, cost=(1.0, 2.0))
