"""Random shift and scale of images (Algorithm 1, line 8)."""

from __future__ import annotations

import numpy as np

from mlperf.collect.cnn_engine.builder import Array


def deform(images: Array, rng: np.random.Generator, shift: float, scale: float, out: Array) -> None:
    """Shift each image and change its size about the centre, by bilinear interpolation; edges are continued.

    Parameters
    ----------
    images : array, shape (n, height, width, maps)
        Left as they are.
    rng : numpy Generator
        Three draws an image: down, right, size.
    shift : float
        Largest shift, elements.
    scale : float
        Largest relative change of size, 0 <= scale < 1.
    out : array, shape (n, height, width, maps)
        The deformed images.
    """
    n, height, width, _ = images.shape
    draws = rng.uniform(-1.0, 1.0, (n, 3))
    size = 1.0 + scale * draws[:, 2]
    top, down = neighbours(height, shift * draws[:, 0], size)
    left, right = neighbours(width, shift * draws[:, 1], size)
    rows, columns = np.arange(n)[:, np.newaxis, np.newaxis], slice(None)
    down_share, right_share = down[:, columns, np.newaxis, np.newaxis], right[:, np.newaxis, columns, np.newaxis]
    next_row, next_column = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)

    def corner(row: Array, column: Array) -> Array:
        picked: Array = images[rows, row[:, :, np.newaxis], column[:, np.newaxis, :]]
        return picked

    upper = corner(top, left) * (1 - right_share) + corner(top, next_column) * right_share
    lower = corner(next_row, left) * (1 - right_share) + corner(next_row, next_column) * right_share
    np.add(upper * (1 - down_share), lower * down_share, out=out, casting="same_kind")


def neighbours(length: int, shifts: Array, sizes: Array) -> tuple[Array, Array]:
    """For each image and output place, the place before it in the source and how far beyond that it lies (0..1).

    Parameters
    ----------
    length : int
        Elements along the axis.
    shifts, sizes : array, shape (n,)
        Shift in elements, and relative size.

    Returns
    -------
    (array of int, array of float), each of shape (n, length)
    """
    centre = (length - 1) / 2
    places = (np.arange(length) - centre - shifts[:, np.newaxis]) / sizes[:, np.newaxis] + centre
    places = np.clip(places, 0.0, length - 1.0)
    before = np.floor(places).astype(np.int64)
    return before, (places - before).astype(np.float32)
