"""The memory operations of Algorithms 1 and 2 do what their lines say, over sizes that span the zoo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlperf.collect.updates import (
    IMAGE_OPERATIONS,
    IMAGE_SIDES,
    VECTOR_OPERATIONS,
    VECTOR_SIZES,
    Images,
    UpdatePlan,
    Vectors,
    image_folder,
)
from mlperf.datasets.schema import IMAGE_OPERATIONS as DICTIONARY_IMAGES
from mlperf.datasets.schema import VECTOR_OPERATIONS as DICTIONARY_VECTORS
from mlperf.specs import load_cnn, zoo_names


def test_operations_are_those_of_the_data_dictionary() -> None:
    assert tuple(VECTOR_OPERATIONS) == DICTIONARY_VECTORS
    assert IMAGE_OPERATIONS == DICTIONARY_IMAGES


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


def test_images_are_read_scaled_shifted_and_mirrored() -> None:
    with image_folder() as folder:
        images = Images(folder, IMAGE_SIDES[0], 3)
        images.load()
        images.deform()
        assert not folder.joinpath("missing").exists()
    assert 0 <= images._loaded.min() < images._loaded.max() <= 1
    assert (
        np.isin(
            np.round(images._deformed[0] / images._deformed[0].max(), 3), np.round(images._loaded[0] / images._deformed[0].max(), 3)
        ).mean()
        >= 0
    )
    assert images._deformed.any()


def test_one_visit_for_each_operation_and_size(tmp_path: Path) -> None:
    plan = UpdatePlan(rounds=1, folder=tmp_path, vector_sizes=(10, 100))
    keys = [visit.keys[0] for visit in plan.visits(1, frozenset(), np.random.default_rng(0))]
    assert len(keys) == len(set(keys)) == 8 * 2 + 2 * len(IMAGE_SIDES) * 5
    left = plan.visits(1, frozenset(keys[:-1]), np.random.default_rng(0))
    assert [visit.keys[0] for visit in left] == keys[-1:]


def test_a_visit_fills_the_columns_of_its_table(tmp_path: Path) -> None:
    plan = UpdatePlan(rounds=1, folder=tmp_path, vector_sizes=(1000,))
    visit = next(each for each in plan.visits(1, frozenset(), np.random.default_rng(0)) if each.keys[0][0] == "add_momentum")
    (row,) = visit.measure()["updates"]
    assert row["n_params"] == 1000
    assert row["cpu_s"] > 0
