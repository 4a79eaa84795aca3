"""The deformation of images against SciPy's resampling."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import map_coordinates

from mlperf.collect.trainer.deform import deform


def images(n: int = 3, height: int = 9, width: int = 7, maps: int = 2) -> np.ndarray:
    return np.random.default_rng(0).random((n, height, width, maps)).astype(np.float32)


def test_no_shift_and_no_scale_leave_images_alone() -> None:
    source = images()
    out = np.zeros_like(source)
    deform(source, np.random.default_rng(0), 0.0, 0.0, out)
    assert np.array_equal(out, source)


def test_deformation_is_bilinear_resampling_about_the_centre() -> None:
    """Scipy's first-order resampling with continued edges, from the same three draws an image."""
    source = images()
    out = np.zeros_like(source)
    deform(source, np.random.default_rng(7), 1.5, 0.2, out)
    draws = np.random.default_rng(7).uniform(-1, 1, (3, 3))
    for number, (down, right, size) in enumerate(draws):
        rows = (np.arange(9) - 4 - 1.5 * down) / (1 + 0.2 * size) + 4
        columns = (np.arange(7) - 3 - 1.5 * right) / (1 + 0.2 * size) + 3
        grid = np.meshgrid(rows, columns, indexing="ij")
        for channel in range(2):
            expected = map_coordinates(source[number, :, :, channel].astype(np.float64), grid, order=1, mode="nearest")
            assert out[number, :, :, channel] == pytest.approx(expected, abs=1e-5)
