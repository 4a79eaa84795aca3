"""Times carried over to another device: products by what is reached of both peaks, vectors by their way through memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.specs.devices import DeviceSheet, device_sheet
from mlperf.training.elsewhere import reached_flop_per_s
from mlperf.training.gradient.other_device import LATER, REACHED, REACHED_BANDWIDTH, REACHED_LATER, OtherDevice, usual_share

FAST, SLOW = DeviceSheet("fast", 40e12, 2e12, ""), DeviceSheet("slow", 10e12, 0.5e12, "")
CALLS = pd.DataFrame(
    {
        "kernel": ["conv_forward", "conv_backward", "activation_forward", "activation_backward"],
        "m": [64, 64, 0, 0],
        "access_bytes": [0, 0, 10**8, 10**8],
    }
)


def test_products_go_by_what_is_reached_of_both_peaks() -> None:
    other = OtherDevice.of(FAST, 0.3, SLOW)
    assert other.product_ratio == pytest.approx(0.3 * 40.0 / (REACHED * 10.0))
    seconds = other.times(CALLS, np.full(4, 1e-3))
    assert seconds[:2] == pytest.approx([other.product_ratio * 1e-3] * 2)


def test_vectors_take_what_their_bytes_take_and_no_less_than_on_the_larger_device() -> None:
    other = OtherDevice.of(FAST, 0.3, SLOW)
    through_memory_s = 1e8 / (REACHED_BANDWIDTH * 0.5e12)
    filled = other.times(CALLS, np.full(4, 1e-5))
    assert filled[2:] == pytest.approx([2.0 * through_memory_s, 3.0 * through_memory_s])
    assert other.times(CALLS, np.full(4, 5e-3))[2:] == pytest.approx([5e-3, 5e-3])


def test_a_faster_memory_shortens_what_waits_for_it() -> None:
    other = OtherDevice.of(SLOW, 0.6, FAST)
    assert other.product_ratio == pytest.approx(0.25)
    assert other.times(CALLS, np.full(4, 5e-3)) == pytest.approx([1.25e-3] * 4)


def test_later_devices_reach_what_the_one_that_was_measured_does() -> None:
    """The constant is what the shipped model says of its own device."""
    model = mlperf.load_model("gpu-h100-layers")
    measured = device_sheet(model.measured_on.processor)
    assert measured is not None
    assert measured.compute_capability is not None
    assert measured.compute_capability >= LATER
    assert reached_flop_per_s(model.gradient) / measured.flop_per_s == pytest.approx(REACHED_LATER, rel=0.05)
    assert usual_share(measured) == REACHED_LATER
    assert usual_share(DeviceSheet("own", 1e13, 1e12, "")) == REACHED


def test_both_ratios_are_told() -> None:
    assert "products x 2, memory x 4" in OtherDevice.of(FAST, 0.3, SLOW).told
