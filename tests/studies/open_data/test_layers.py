"""Convolutions as products: windows counted one by one, published layer sizes."""

from __future__ import annotations

import pandas as pd
import pytest

from mlperf.studies.open_data.layers import as_products, output_size


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
