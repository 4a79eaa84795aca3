"""What tasks make of columns: windows counted one by one, published layer sizes, costs of a transformer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.studies.open_data.layers import as_products, output_size
from mlperf.studies.open_data.networks import geometry
from mlperf.studies.open_data.tuning import in_octaves, regret_of_top, second_order


@pytest.mark.parametrize("padded", [0, 1])
def test_output_size_counts_the_places_of_the_filter(padded: int) -> None:
    """VALID: places where the filter lies inside; SAME: one place every stride pixels."""
    for size in range(7, 20):
        for width in range(1, 8):
            for stride in range(1, 5):
                last = size - 1 if padded else size - width
                expected = len(range(0, last + 1, stride))
                columns = [pd.Series([value]) for value in (size, width, stride, padded)]
                assert output_size(*columns)[0] == expected


def test_products_of_a_convolution() -> None:
    """VGG's second convolution: 64 maps in, 128 out, 3 x 3, 112 x 112 pixels, 1.85e9 multiply-accumulates an image (64 of them)."""
    rows = pd.DataFrame({"subbatch_size": [64], "maps_in": [64], "maps_out": [128]})
    made = as_products(rows, pd.Series([112**2]), pd.Series([9]), pd.Series([112**2])).iloc[0]
    assert made["m"] * made["n"] * made["k"] == 64 * 112**2 * 128 * 64 * 9
    assert made["n_inputs"] == 64 * 64 * 112**2


def test_geometry_of_layers() -> None:
    frame = pd.DataFrame(
        {
            "type": ["CONVOLUTION", "INNER_PRODUCT", "INNER_PRODUCT", "POOLING"],
            "bottom": ["64x3x224x224", "64x512x7x7", "64x4096", "64x64x224x224"],
            "top": ["64x64x224x224", "64x4096", "64x1000", "64x64x112x112"],
            "filter_size": [3.0, np.nan, np.nan, 2.0],
        }
    )
    made = geometry(frame)
    assert made["fan_in"].tolist()[:3] == [27, 512 * 49, 4096]
    assert made["pixels"].tolist() == [224**2, 1, 1, 112**2]
    assert made["outputs"].tolist()[3] == 64 * 64 * 112**2
    assert made["window"].tolist() == [9, 1, 1, 4]


def test_second_order_terms_are_all_pairs_and_squares() -> None:
    assert second_order(("a", "b", "c")) == ("a", "b", "c", "a*a", "b*b", "c*c", "a*b", "a*c", "b*c")


def test_octaves_leave_switches_alone() -> None:
    names = ("mwg", "nwg", "kwg", "mdimc", "ndimc", "mdima", "ndimb", "kwi", "vwm", "vwn", "strm", "strn", "sa", "sb")
    made = in_octaves(pd.DataFrame([[8.0] * 10 + [0.0, 1.0, 0.0, 1.0]], columns=names))
    assert made.iloc[0].tolist() == [3.0] * 10 + [0.0, 1.0, 0.0, 1.0]


def test_regret_of_the_predicted_top_ten() -> None:
    measured = np.arange(1.0, 31.0)
    assert regret_of_top(measured, measured) == 0.0
    assert regret_of_top(-measured, measured) == pytest.approx(20.0)
