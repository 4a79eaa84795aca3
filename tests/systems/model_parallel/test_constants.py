"""C_muladd of working sets, of kinds, of a cache; constants that cannot be."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from partition_networks import CLUSTER

from mlperf.core.errors import DataError


def test_a_cache_and_a_table() -> None:
    assert CLUSTER.muladd_of(np.array([1e3, 20e6, 40e6])) == pytest.approx([2e-10, 2e-10, 4e-10])
    table = dataclasses.replace(CLUSTER, cache_bytes=0.0, working_set_bytes=np.array([1e3, 1e5]))
    assert table.muladd_of(np.array([1.0, 1e4, 1e9])) == pytest.approx([2e-10, 4e-10, 6e-10])


def test_kinds_with_their_own() -> None:
    own = dataclasses.replace(CLUSTER, of_kinds={"conv": (np.array([1.0]), np.array([7e-10]), 0.0)})
    assert own.muladd_of(np.array([1e3]), "conv") == pytest.approx([7e-10])
    assert own.muladd_of(np.array([1e3]), "fc") == pytest.approx([2e-10])
    assert CLUSTER.n_cores == 16


@pytest.mark.parametrize(
    "changes", [{"act_s": -1.0}, {"latency_s": [1.0]}, {"muladd_s": [np.nan, 1.0]}, {"bandwidth_bytes_per_s": 0.0}]
)
def test_constants_that_cannot_be_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(DataError):
        dataclasses.replace(CLUSTER, **changes)
