"""Images and labels to train on: scikit-learn's digits, made gratings, or any NumPy file."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.specs.network.cnn import CnnSpec

TEST_SHARE = 0.2
DIGITS = "digits.csv.gz"
FULL_BYTE = 255.0
N_GRATINGS, N_ORIENTATIONS, NOISE = 1800, 10, 0.15
DAMAGED: tuple[type[Exception], ...] = (
    *(OSError, EOFError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, MemoryError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, struct.error, SyntaxError),
)
"""What NumPy and zipfile raise on archives that were cut off, overwritten, packed otherwise or never were any."""

LAYOUT_HINT = "Save with np.savez(path, images=..., labels=...); images (n, height, width) or (n, height, width, maps)."


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """A data set in memory.

    Attributes
    ----------
    name : str
        For reports.
    images, test_images : array, shape (n, height, width, maps)
        uint8, or float32 as they go into the network.
    labels, test_labels : array, shape (n,)
        Classes from 0.
    """

    name: str
    images: Any
    labels: IntArray
    test_images: Any
    test_labels: IntArray

    @property
    def size(self) -> int:
        """Samples of an epoch."""
        return len(self.labels)

    @property
    def factor(self) -> float:
        """What a stored value is multiplied by on loading."""
        return 1.0 / FULL_BYTE if self.images.dtype == np.uint8 else 1.0


def digits_cnn() -> CnnSpec:
    """A small network for the digits and the gratings: two convolutions, one pool, two fully connected layers."""
    return CnnSpec.from_sprint("digits", 8, (1, 16, 32, 64, 10), pools_after=(2,), n_conv=2)


def digits_samples(seed: int = 0) -> Samples:
    """scikit-learn's bundled handwritten digits, 8 x 8 elements, a fifth kept for the test."""
    images, labels = _digits()
    return split("digits", np.rint(images * (FULL_BYTE / 16.0)).astype(np.uint8), labels, seed)


def _digits() -> tuple[FloatArray, IntArray]:
    """Images (n, 8, 8) of 0 to 16 and labels: from scikit-learn's file, which takes a tenth of the time of importing its reader."""
    package = find_spec("sklearn")
    path = Path(str(package and package.origin)).with_name("datasets") / "data" / DIGITS
    if path.is_file():
        rows = np.loadtxt(path, delimiter=",")
        return rows[:, :-1].reshape(-1, 8, 8), rows[:, -1].astype(np.int64)
    from sklearn.datasets import load_digits

    data = load_digits()
    return data.images, data.target


def grating_samples(seed: int = 0) -> Samples:
    """Noisy gratings of 8 x 8 elements, made for the purpose: ten orientations are the classes, a fifth is kept for the test.

    Wave length (3 to 6 elements), phase and contrast are random; every element has normal noise of 15 % of the full range.
    """
    rng = np.random.default_rng((seed, N_GRATINGS))
    labels = np.arange(N_GRATINGS) % N_ORIENTATIONS
    angle = np.pi * (labels + 0.5) / N_ORIENTATIONS
    wave, phase, contrast = rng.uniform(((3.0,), (0.0,), (0.5,)), ((6.0,), (2.0 * np.pi,), (1.0,)), (3, N_GRATINGS))
    row, column = np.mgrid[0:8, 0:8] - 3.5
    along = np.cos(angle)[:, None, None] * row + np.sin(angle)[:, None, None] * column
    shades = 0.5 + 0.5 * contrast[:, None, None] * np.cos(2.0 * np.pi * along / wave[:, None, None] + phase[:, None, None])
    noisy = np.clip(shades + NOISE * rng.standard_normal(shades.shape), 0.0, 1.0)
    return split("gratings", np.rint(FULL_BYTE * noisy).astype(np.uint8), labels, seed)


NAMED: Mapping[str, Callable[[int], Samples]] = {"digits": digits_samples, "gratings": grating_samples}
"""Data sets that need no file, each for `digits_cnn`: 8 x 8 elements, ten classes."""


def find_samples(data: Path | str, seed: int = 0) -> Samples:
    """A data set by its name in `NAMED`, or from a NumPy file (see `read_samples`)."""
    return NAMED[data](seed) if isinstance(data, str) and data in NAMED else read_samples(Path(data), seed)


def read_samples(path: Path, seed: int = 0) -> Samples:
    """Read ``images`` and ``labels`` from a NumPy file, with ``test_images`` and ``test_labels`` where it has them.

    Parameters
    ----------
    path : Path
        ``.npz``; images of uint8 are scaled to 0..1 on loading, other numbers are taken as they are.
    seed : int
        Of the split where the file holds no test part.

    Raises
    ------
    DataError
        Not such a file; says what is missing or of which shape it is.
    """
    try:
        with np.load(path, allow_pickle=False) as stored:
            found = {name: stored[name] for name in stored.files}
    except DAMAGED as error:
        raise DataError(f"is no NumPy archive ({error})", place=str(path), hint=LAYOUT_HINT) from error
    for part in ("", "test_"):
        if part == "test_" and not {"test_images", "test_labels"} & set(found):
            return split(Path(path).stem, found["images"], found["labels"], seed)
        check_arrays(found, part, str(path))
    return Samples(
        Path(path).stem, stored_images(found["images"]), as_labels(found["labels"]),
        stored_images(found["test_images"]), as_labels(found["test_labels"]),
    )  # fmt: skip


def check_arrays(found: dict[str, Any], part: str, place: str) -> None:
    """Refuse arrays that are absent or do not belong together."""
    images, labels = found.get(f"{part}images"), found.get(f"{part}labels")
    if images is None or labels is None:
        raise DataError(
            f"got arrays {', '.join(found) or 'none'}, expected {part}images and {part}labels", place=place, hint=LAYOUT_HINT
        )
    if images.ndim not in (3, 4) or labels.shape != images.shape[:1] or not len(labels):
        raise DataError(
            f"got {part}images {images.shape} and {part}labels {labels.shape}, expected one label an image",
            place=place,
            hint=LAYOUT_HINT,
        )
    if labels.dtype.kind not in "iu" or labels.min() < 0:
        raise DataError(f"got {part}labels of {labels.dtype}, expected classes as integers from 0", place=place, hint=LAYOUT_HINT)
    if images.dtype.kind not in "iuf" or not np.isfinite(images).all():
        raise DataError(
            f"got {part}images of {images.dtype} with numbers that are not finite, expected numbers", place=place, hint=LAYOUT_HINT
        )


def split(name: str, images: Any, labels: Any, seed: int) -> Samples:
    """Keep a random fifth for the test."""
    order = np.random.default_rng(seed).permutation(len(labels))
    n_test = max(1, round(TEST_SHARE * len(labels)))
    images, labels = stored_images(images)[order], as_labels(labels)[order]
    return Samples(name, images[n_test:], labels[n_test:], images[:n_test], labels[:n_test])


def stored_images(images: Any) -> Any:
    """Four axes; bytes stay bytes, other numbers become float32."""
    shaped = images if images.ndim == 4 else images[..., np.newaxis]
    return np.ascontiguousarray(shaped if shaped.dtype == np.uint8 else shaped.astype(np.float32))


def as_labels(labels: Any) -> IntArray:
    """Labels as the engine takes them."""
    return np.asarray(labels, dtype=np.int64)


def check_fits(samples: Samples, cnn: CnnSpec, n_nodes: int) -> None:
    """Refuse a data set that the network cannot read, or that is too small for the nodes.

    Raises
    ------
    DataError
        Says which sizes differ.
    """
    expected = (*cnn.input_size, cnn.input_maps)
    for images in (samples.images, samples.test_images):
        if images.shape[1:] != expected:
            raise DataError(
                f"got images of {images.shape[1:]}, expected {expected} as {cnn.name} reads (height, width, maps)",
                place=samples.name, hint="Give the network that belongs to the data with --cnn.",
            )  # fmt: skip
    n_classes, highest = cnn.output_shape.size, int(max(samples.labels.max(), samples.test_labels.max()))
    if highest >= n_classes:
        raise DataError(f"got class {highest}, expected classes below {n_classes}, the outputs of {cnn.name}", place=samples.name)
    if samples.size < n_nodes:
        raise DataError(f"got {samples.size} samples, expected at least one for each of {n_nodes} nodes", place=samples.name)
