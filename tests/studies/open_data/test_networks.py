"""Geometry of layers as it is written in traces."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlperf.studies.open_data.networks import geometry


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
