"""Each node's own file of images: disjoint parts of the data set, read sample by sample."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

from mlperf.collect.cnn_engine.builder import Array
from mlperf.collect.trainer.samples import Samples
from mlperf.core.arrays import IntArray
from mlperf.core.files import replacing, write_bytes_whole, write_text_whole
from mlperf.core.places import make_folder

FILE_NAME = "shards.json"


def write_shards(samples: Samples, n_nodes: int, folder: Path, seed: int) -> None:
    """Deal the samples to the nodes at random; sizes differ by one at most.

    Parameters
    ----------
    samples : Samples
        The data set.
    n_nodes : int
        Files.
    folder : Path
        Gets ``node-0.images``, ``node-0.npy`` (rows: index in the data set, label), ... and ``shards.json``.
    seed : int
        Of the deal.
    """
    make_folder(folder, above=True)
    order = np.random.default_rng(seed).permutation(samples.size)
    for node, indices in enumerate(np.array_split(order, n_nodes)):
        write_bytes_whole(folder / f"node-{node}.images", samples.images[indices].tobytes())
        with replacing(folder / f"node-{node}.npy") as stream:
            np.save(stream, np.stack([indices, samples.labels[indices]]))
    about = {"shape": samples.images.shape[1:], "dtype": samples.images.dtype.str, "factor": samples.factor}
    write_text_whole(folder / FILE_NAME, json.dumps(about) + "\n")


class Shard:
    """One node's images, opened for one worker.

    Parameters
    ----------
    folder : Path
        Written by `write_shards`.
    node : int
        Which file.
    subbatch_size : int
        Samples that `load` reads.

    Attributes
    ----------
    indices : array, shape (n_samples,)
        Places of the node's samples in the data set.
    images : array, shape (subbatch_size, height, width, maps)
        What `load` read last, float32.
    """

    def __init__(self, folder: Path, node: int, subbatch_size: int) -> None:
        about = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
        self.indices, self.labels = np.load(folder / f"node-{node}.npy")
        self._factor = np.float32(about["factor"])
        self._raw: Array = np.zeros((subbatch_size, *about["shape"]), dtype=np.dtype(about["dtype"]))
        self._bytes = memoryview(self._raw.data).cast("B")
        self._sample_bytes = self._raw[0].nbytes
        self.images: Array = np.zeros(self._raw.shape, dtype=np.float32)
        self._handle = os.open(folder / f"node-{node}.images", os.O_RDONLY)

    def load(self, rng: np.random.Generator) -> IntArray:
        """Read as many random samples as the sub-batch holds; returns their labels (Algorithm 1, line 7)."""
        chosen = rng.integers(0, len(self.indices), len(self._raw))
        size = self._sample_bytes
        for place, number in enumerate(chosen.tolist()):
            os.preadv(self._handle, [self._bytes[place * size : (place + 1) * size]], number * size)
        np.multiply(self._raw, self._factor, out=self.images)
        labels: IntArray = self.labels[chosen]
        return labels

    def close(self) -> None:
        """Close the file of samples."""
        os.close(self._handle)
