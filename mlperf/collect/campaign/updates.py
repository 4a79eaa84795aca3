"""Plan of the memory operations of Algorithms 1 and 2: vector operations over the parameters, images loaded and deformed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.collect.backends.backends import Backend
from mlperf.collect.campaign.device_updates import LEARNING_RATE, VISIT_S, device_measures, repeated, vector_row
from mlperf.collect.cnn_engine.builder import Array
from mlperf.collect.cnn_engine.timers import ThreadTimer
from mlperf.collect.protocol.protocol import Key, Rows, Visit
from mlperf.core.temporaries import scratch_folder
from mlperf.systems.sprint.components import IMAGE_OPERATIONS

MOMENTUM = 0.9
VECTOR_SIZES = (
    *(1_024, 4_096, 16_384, 65_536, 131_072, 262_144, 524_288, 1_048_576, 2_097_152, 4_194_304),
    *(8_388_608, 16_777_216, 25_557_032, 37_748_736, 61_100_840, 95_000_000, 143_667_240),
)
"""Parameters: powers of two from the least network up, then ResNet-50, AlexNet and VGG-19 with steps between."""

SUBBATCH_SIZES = (1, 2, 4, 8, 16)
IMAGE_SIDES = (24, 48, 100, 160, 224)
IMAGE_MAPS = 3
IMAGES_ON_DISK = 64
SHIFT = 4


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Four vectors of N_Param numbers, the last one scratch."""

    a: Array
    b: Array
    c: Array
    scratch: Array

    def cut(self, n_params: int) -> Vectors:
        """The first ``n_params`` numbers of each."""
        return Vectors(self.a[:n_params], self.b[:n_params], self.c[:n_params], self.scratch[:n_params])


def add_momentum(v: Vectors) -> None:
    """SendBuf <- SendBuf + OldWeights + nu DeltaWeights (Algorithm 2, line 16)."""
    np.multiply(v.c, MOMENTUM, out=v.scratch)
    np.add(v.a, v.b, out=v.a)
    np.add(v.a, v.scratch, out=v.a)


VECTOR_OPERATIONS: Mapping[str, Callable[[Vectors], object]] = {
    "fetch_weights": lambda v: np.copyto(v.a, v.b),
    "compute_update_value": lambda v: np.multiply(v.a, -LEARNING_RATE, out=v.a),
    "update_gradient": lambda v: np.add(v.a, v.b, out=v.a),
    "sum_gradient": lambda v: np.add(v.a, v.c, out=v.a),
    "update_old_weights": lambda v: np.copyto(v.b, v.a),
    "add_momentum": add_momentum,
    "update_momentum": lambda v: np.subtract(v.a, v.b, out=v.c),
    "update_weights": lambda v: np.copyto(v.c, v.a),
}
"""One occurrence of each component on ``n_params`` numbers; lines 15, 16 and 18 of Algorithm 2 work on one node's share of them."""


@dataclass(frozen=True, slots=True, eq=False)
class UpdatePlan:
    """All operations over all sizes.

    Attributes
    ----------
    backend : Backend
        Where it has a device, what Algorithm 1 does with the weights and the update value is measured there.
    rounds : int
        Visits of each.
    folder : Path
        Of `image_folder`: one file of raw images for each side in `IMAGE_SIDES`.
    vector_sizes : sequence of int
        Parameters.
    """

    backend: Backend
    rounds: int
    folder: Path
    vector_sizes: Sequence[int] = VECTOR_SIZES
    tables: tuple[str, ...] = ("updates",)
    key: tuple[str, ...] = ("operation", "n_params", "subbatch_size", "input_size")

    @property
    def nominal_s(self) -> float:
        """One round of all operations, roughly: short ones are repeated for a while, long ones pass over vectors twice."""
        passes = [max(VISIT_S, 2 * 12 * size / 8e9) for size in self.vector_sizes]
        return len(VECTOR_OPERATIONS) * sum(passes) + len(IMAGE_OPERATIONS) * len(IMAGE_SIDES) * len(SUBBATCH_SIZES) * VISIT_S

    def visits(self, number: int, done: frozenset[Key], rng: np.random.Generator) -> list[Visit]:  # noqa: ARG002 - all rounds are alike
        """One visit for each operation and size, in random order."""
        measures = vector_measures(self.backend, max(self.vector_sizes))
        found = [
            Visit(((name, str(size), "0", "0"),), partial(measures[name], size))
            for name in VECTOR_OPERATIONS
            for size in self.vector_sizes
        ]
        for side in IMAGE_SIDES:
            for subbatch_size in SUBBATCH_SIZES:
                images = Images(self.folder, side, subbatch_size)
                keys = [(name, "0", str(subbatch_size), str(images.input_size)) for name in IMAGE_OPERATIONS]
                found.append(Visit((keys[0],), partial(measure_images, keys[0], images.load, images)))
                found.append(Visit((keys[1],), partial(measure_images, keys[1], images.deform, images)))
        return [found[index] for index in rng.permutation(len(found)) if found[index].keys[0] not in done]


def vector_measures(backend: Backend, size: int) -> dict[str, Callable[[int], Rows]]:
    """By operation, a function that measures it on so many parameters; ``size`` is the largest number."""
    # Vectors of ordinary numbers, every page touched.
    vectors = Vectors(*(np.full(size, value, dtype=np.float32) for value in (0.5, 0.25, 0.125, 0.0)))
    measures: dict[str, Callable[[int], Rows]] = {name: partial(measure_vector, name, vectors) for name in VECTOR_OPERATIONS}
    if backend.on_device is not None:
        measures |= device_measures(backend.on_device, size)
    return measures


class Images:
    """One sub-batch of images: loaded from raw files into pinned host memory, then shifted, mirrored and dimmed.

    The files lie in the page cache after the first visit, so `load` is the copy and the conversion, not the disk.
    """

    def __init__(self, folder: Path, side: int, subbatch_size: int) -> None:
        self.side, self.subbatch_size = side, subbatch_size
        self.input_size = side * side * IMAGE_MAPS
        self._path = folder / f"{side}.raw"
        self._raw = np.zeros((subbatch_size, self.input_size), dtype=np.uint8)
        self._loaded = np.zeros((subbatch_size, side + 2 * SHIFT, side + 2 * SHIFT, IMAGE_MAPS), dtype=np.float32)
        self._deformed = np.zeros((subbatch_size, side, side, IMAGE_MAPS), dtype=np.float32)
        self._rng = np.random.default_rng(side * 1000 + subbatch_size)

    def load(self) -> None:
        """Read randomly chosen images and convert them (Algorithm 1, line 7)."""
        handle = os.open(self._path, os.O_RDONLY)
        try:
            for row, number in zip(self._raw, self._rng.integers(0, IMAGES_ON_DISK, self.subbatch_size).tolist(), strict=True):
                os.preadv(handle, [row.data], number * self.input_size)
        finally:
            os.close(handle)
        inner = self._loaded[:, SHIFT : SHIFT + self.side, SHIFT : SHIFT + self.side, :]
        np.multiply(self._raw.reshape(self._deformed.shape), np.float32(1 / 255), out=inner)

    def deform(self) -> None:
        """Shift by up to 4 elements, mirror every other image, change the brightness (Algorithm 1, line 8)."""
        shifts = self._rng.integers(0, 2 * SHIFT, (self.subbatch_size, 3)).tolist()
        for source, target, (down, right, turn) in zip(self._loaded, self._deformed, shifts, strict=True):
            part = source[down : down + self.side, right : right + self.side]
            np.multiply(part[:, ::-1] if turn % 2 else part, np.float32(1 - 0.02 * turn), out=target)


@contextmanager
def image_folder() -> Iterator[Path]:
    """A temporary folder with raw images of every side, removed afterwards."""
    rng = np.random.default_rng(0)
    with scratch_folder() as folder:
        for side in IMAGE_SIDES:
            (folder / f"{side}.raw").write_bytes(rng.bytes(side * side * IMAGE_MAPS * IMAGES_ON_DISK))
        yield folder


def measure_vector(name: str, vectors: Vectors, n_params: int) -> Rows:
    """Row of one vector operation; in-place sums are reset before, so that numbers stay ordinary."""
    part = vectors.cut(n_params)
    part.a.fill(0.5)
    return vector_row(name, n_params, repeated(partial(VECTOR_OPERATIONS[name], part), ThreadTimer().time))


def measure_images(key: Key, operation: Callable[[], None], images: Images) -> Rows:
    """Row of one operation on images."""
    row: dict[str, Any] = {"operation": key[0], "n_params": 0}
    row |= {"subbatch_size": images.subbatch_size, "input_size": images.input_size}
    return {"updates": [row | repeated(operation, ThreadTimer().time)]}
