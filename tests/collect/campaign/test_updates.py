"""The memory operations of Algorithms 1 and 2 do what their lines say, over sizes that span the zoo."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mlperf.collect.backends.backends import Backend, numpy_backend
from mlperf.collect.campaign.updates import (
    IMAGE_MAPS,
    IMAGE_OPERATIONS,
    IMAGE_SIDES,
    IMAGES_ON_DISK,
    SHIFT,
    VECTOR_OPERATIONS,
    VECTOR_SIZES,
    Images,
    UpdatePlan,
    Vectors,
    image_folder,
)
from mlperf.datasets.dictionary.schema import MEMORY_OPERATIONS
from mlperf.specs import load_cnn, zoo_names


@pytest.fixture(scope="module")
def numpy() -> Iterator[Backend]:
    with numpy_backend() as backend:
        yield backend


def test_operations_are_those_of_the_data_dictionary() -> None:
    assert {*VECTOR_OPERATIONS, *IMAGE_OPERATIONS} == set(MEMORY_OPERATIONS)


def test_at_least_twelve_sizes_span_the_zoo() -> None:
    counts = [load_cnn(name).n_params for name in zoo_names()]
    assert len(VECTOR_SIZES) >= 12
    assert min(VECTOR_SIZES) <= min(counts)
    assert max(VECTOR_SIZES) >= max(counts)


@pytest.mark.parametrize(
    ("name", "changed", "expected"),
    [
        ("fetch_weights", "a", 2.0),
        ("compute_update_value", "a", -0.01),
        ("update_gradient", "a", 3.0),
        ("sum_gradient", "a", 5.0),
        ("update_old_weights", "b", 1.0),
        ("add_momentum", "a", 1 + 2 + 0.9 * 4),
        ("update_momentum", "c", 1 - 2.0),
        ("update_weights", "c", 1.0),
    ],
)
def test_vector_operation(name: str, changed: str, expected: float) -> None:
    vectors = Vectors(*(np.full(4, value, dtype=np.float32) for value in (1, 2, 4, 0)))
    VECTOR_OPERATIONS[name](vectors)
    np.testing.assert_allclose(getattr(vectors, changed), expected, rtol=1e-6)


def test_images_are_read_at_random_and_scaled_to_one() -> None:
    """Each loaded image is one of the file's, divided by 255; all of them come up in time."""
    with image_folder() as folder:
        side = IMAGE_SIDES[0]
        stored = np.fromfile(folder / f"{side}.raw", dtype=np.uint8).reshape(IMAGES_ON_DISK, side, side, IMAGE_MAPS)
        images, seen = Images(folder, side, 16), set()
        for _ in range(40):
            images.load()
            for image in np.rint(images._loaded[:, SHIFT:-SHIFT, SHIFT:-SHIFT] * 255).astype(np.uint8):
                (number,) = np.flatnonzero((stored == image).all(axis=(1, 2, 3)))
                seen.add(int(number))
    assert seen == set(range(IMAGES_ON_DISK))


@pytest.mark.slow
def test_deformed_images_are_shifted_mirrored_and_dimmed() -> None:
    """Of all (shift, mirror, brightness) exactly one explains each image: a wrong axis, sign or factor explains none."""
    with image_folder() as folder:
        side = IMAGE_SIDES[0]
        images, found = Images(folder, side, 8), set()
        for _ in range(20):
            images.load()
            images.deform()
            for source, target in zip(images._loaded, images._deformed, strict=True):
                (explanation,) = explanations(source, target, side)
                found.add(explanation)
    assert {down for down, _, _ in found} == {right for _, right, _ in found} == set(range(2 * SHIFT))
    assert {turn for _, _, turn in found} == set(range(2 * SHIFT))


def explanations(source: np.ndarray, target: np.ndarray, side: int) -> list[tuple[int, int, int]]:
    """Every (down, right, turn) that makes ``target`` of ``source``: odd turns mirror, each turn takes 2 % of the brightness."""
    return [
        (down, right, turn)
        for down in range(2 * SHIFT)
        for right in range(2 * SHIFT)
        for turn in range(2 * SHIFT)
        if np.abs(mirrored(source[down : down + side, right : right + side], turn) * (1 - 0.02 * turn) - target).max() < 1e-5
    ]


def mirrored(image: np.ndarray, turn: int) -> np.ndarray:
    return np.flip(image, axis=1) if turn % 2 else image


def test_one_visit_for_each_operation_and_size(numpy: Backend, tmp_path: Path) -> None:
    plan = UpdatePlan(numpy, rounds=1, folder=tmp_path, vector_sizes=(10, 100))
    keys = [visit.keys[0] for visit in plan.visits(1, frozenset(), np.random.default_rng(0))]
    assert len(keys) == len(set(keys)) == 8 * 2 + 2 * len(IMAGE_SIDES) * 5
    left = plan.visits(1, frozenset(keys[:-1]), np.random.default_rng(0))
    assert [visit.keys[0] for visit in left] == keys[-1:]


def test_a_visit_fills_the_columns_of_its_table(numpy: Backend, tmp_path: Path) -> None:
    plan = UpdatePlan(numpy, rounds=1, folder=tmp_path, vector_sizes=(1000,))
    visit = next(each for each in plan.visits(1, frozenset(), np.random.default_rng(0)) if each.keys[0][0] == "add_momentum")
    (row,) = visit.measure()["updates"]
    assert row["n_params"] == 1000
    assert row["cpu_s"] > 0
