"""The cache model at sub-batches between those at which it is worked out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.features.network_engine import caches_of, engine_columns
from mlperf.features.network_engine.subbatches import CALL_KEYS, columns_between, knots_around
from mlperf.specs import load_cnn
from mlperf.specs.network.cnn import CnnSpec

pytestmark = pytest.mark.slow

CACHES = caches_of({"cache_bytes": {"L1d": 49152, "L2": 1048576, "L3": 33554432}})


@pytest.fixture(scope="module")
def cnn() -> CnnSpec:
    return load_cnn("alexnet")


def exact(cnn: CnnSpec, size: int) -> pd.DataFrame:
    return engine_columns(cnn, size, CACHES)


def test_every_size_has_a_knot_below_and_above() -> None:
    sizes = np.arange(1, 3000)
    lower, upper = knots_around(sizes)
    assert (lower <= sizes).all()
    assert (upper >= sizes).all()
    np.testing.assert_array_equal(sizes[lower == upper][:12], [*range(1, 9), 12, 16, 24, 32])
    np.testing.assert_array_equal(lower == upper, np.isin(sizes, np.union1d(lower, upper)))
    assert (upper / lower).max() <= 1.5
    assert len(np.union1d(lower, upper)) < 30


def test_knots_do_not_depend_on_what_else_is_asked() -> None:
    for size in (9, 40, 100, 999):
        alone, among = knots_around(np.array([size])), knots_around(np.array([size, 5000]))
        assert [int(each[0]) for each in alone] == [int(each[0]) for each in among]


def test_at_a_knot_it_is_the_cache_model(cnn: CnnSpec) -> None:
    found = columns_between(lambda size: exact(cnn, size), [1, 4, 32])
    expected = pd.concat([exact(cnn, size) for size in (1, 4, 32)], ignore_index=True)
    pd.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize("size", [11, 21, 29, 50])
def test_between_knots_misses_of_a_step_are_nearly_those_of_the_cache_model(cnn: CnnSpec, size: int) -> None:
    found, expected = columns_between(lambda knot: exact(cnn, knot), [size]), exact(cnn, size)
    pd.testing.assert_frame_equal(found[CALL_KEYS], expected[CALL_KEYS])
    for name in ("misses_l1", "misses_l2", "misses_l3", "misses_tlb", "inner_runs"):
        assert found[name].sum() == pytest.approx(expected[name].sum(), rel=0.03), name
