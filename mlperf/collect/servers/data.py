"""Images for the networks: scikit-learn's digits as they are, or enlarged to the size that a network reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.collect.canonical.loops import Floats
from mlperf.collect.servers.net import PLACE, Net
from mlperf.collect.trainer.samples import digits_samples
from mlperf.core.arrays import IntArray
from mlperf.core.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class Images:
    """A data set as the trainer reads it.

    Attributes
    ----------
    images, test_images : array, shape (n, rows, values of a row)
        float32 between 0 and 1.
    labels, test_labels : array, shape (n,)
        Classes from 0.
    """

    images: Floats
    labels: IntArray
    test_images: Floats
    test_labels: IntArray


def digits_for(net: Net, seed: int = 0) -> Images:
    """The digits, each element repeated so often that they fill what the network reads.

    Raises
    ------
    DataError
        The network reads no multiple of 8 x 8 elements, more than one map, or has not ten outputs.
    """
    first, last = net.layers[0], net.layers[-1]
    factor = first.in_rows // 8
    if first.in_maps != 1 or (first.in_rows, first.in_width) != (8 * factor, 8 * factor) or not factor or last.rows != 10:
        got = f"got a network of {first.in_rows} x {first.in_width} x {first.in_maps} elements and {last.rows} outputs"
        raise DataError(f"{got}, expected one for digits: 8 k x 8 k x 1 and 10", place=PLACE)
    samples = digits_samples(seed)

    def enlarged(images: object) -> Floats:
        small = np.asarray(images)[..., 0].astype(np.float32) * np.float32(samples.factor)
        found: Floats = np.ascontiguousarray(np.kron(small, np.ones((1, factor, factor), dtype=np.float32)))
        return found

    return Images(enlarged(samples.images), samples.labels, enlarged(samples.test_images), samples.test_labels)
