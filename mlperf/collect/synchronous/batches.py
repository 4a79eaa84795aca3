"""Which samples a process reads in a step: together all processes read what one would read alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mlperf.collect.trainer.samples import Samples, find_samples
from mlperf.core.arrays import IntArray
from mlperf.specs.network.cnn import CnnSpec

N_RANDOM = 512
DIGITS_SHAPE = (8, 8, 1)


def samples_of(cnn: CnnSpec, data: Path | str | None, seed: int) -> Samples:
    """Images that a network can read: those asked for, the digits, or random ones.

    Parameters
    ----------
    cnn : CnnSpec
        The network.
    data : Path, str or None
        See `DdpRequest`.
    seed : int
        Of the split, or of the random images.
    """
    if data is not None:
        return find_samples(data, seed)
    if (*cnn.input_size, cnn.input_maps) == DIGITS_SHAPE and cnn.output_shape.size == 10:
        return find_samples("digits", seed)
    rng = np.random.default_rng((seed, N_RANDOM))
    shape = (N_RANDOM, *cnn.input_size, cnn.input_maps)
    images = rng.integers(0, 256, shape, dtype=np.uint8)
    labels = rng.integers(0, cnn.output_shape.size, N_RANDOM)
    return Samples("random", images, labels, images[:1], labels[:1])


def rows_of_step(step: int, rank: int, n_processes: int, subbatch_size: int, dataset_size: int, seed: int) -> IntArray:
    """Samples of one process in one step, shape (subbatch_size,).

    Every epoch has an order of its own; in it the samples of step t of all processes lie one behind the other, so that a single
    process with a sub-batch ``n_processes`` times as large reads the same samples in the same step.

    Parameters
    ----------
    step, rank : int
        From 0.
    n_processes, subbatch_size : int
        Of the run.
    dataset_size : int
        Samples; the last that fill no step of an epoch are left to the next order.
    seed : int
        Of the orders.
    """
    together = n_processes * subbatch_size
    steps_of_epoch = max(1, dataset_size // together)
    epoch, place = divmod(step, steps_of_epoch)
    order = np.random.default_rng((seed, epoch)).permutation(dataset_size)
    first = place * together + rank * subbatch_size
    return np.asarray(np.take(order, np.arange(first, first + subbatch_size), mode="wrap"), dtype=np.int64)
