"""C_muladd by working set, and constants that cannot be."""

from __future__ import annotations

import numpy as np
import pytest
from partition_examples import cluster

from mlperf.core.errors import DataError


def test_a_cache_holds_its_share_of_the_working_set() -> None:
    found = cluster().muladd_of(np.array([1e6, 20e6, 40e6, 200e6]))
    np.testing.assert_allclose(found, [2e-10, 2e-10, 4e-10, 0.1 * 2e-10 + 0.9 * 6e-10])


def test_a_table_is_linear_in_the_logarithm_and_constant_beyond() -> None:
    machine = cluster(cache_bytes=0.0, working_set_bytes=np.array([1e4, 1e6, 1e8]), muladd_s=np.array([1e-10, 2e-10, 6e-10]))
    found = machine.muladd_of(np.array([1.0, 1e4, 1e5, 1e6, 1e7, 1e12]))
    np.testing.assert_allclose(found, [1e-10, 1e-10, 1.5e-10, 2e-10, 4e-10, 6e-10])


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"muladd_s": np.array([-1e-10, 1e-10])}, "for muladd_s, expected numbers of at least 0"),
        ({"working_set_bytes": np.array([2.0, 1.0])}, "rising working sets"),
        ({"latency_s": np.zeros(3)}, "got 16 values of interference and 3 of latency_s"),
        ({"act_s": -1.0}, "act_s"),
        ({"bandwidth_bytes_per_s": 0.0}, "bandwidth"),
    ],
)
def test_constants_that_cannot_be(changes: dict[str, object], told: str) -> None:
    with pytest.raises(DataError, match=told):
        cluster(**changes)


def test_cores_are_those_with_constants() -> None:
    assert cluster(3).n_cores == 3
