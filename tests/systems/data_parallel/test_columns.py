"""Columns that stand in for a component's time: needed only where they are used, checked where they are."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.systems.data_parallel.columns import links_of, n_workers, needed_column

ONE = {"n_nodes": np.array([1.0, 1.0]), "n_gpus_per_node": np.array([1.0, 8.0])}
LOCAL = {"local_latency_s": np.array(1e-6), "local_bandwidth_bytes_per_s": np.array(1e11)}


def test_a_link_nobody_uses_may_be_left_out() -> None:
    found = links_of({**ONE, **LOCAL}, "exchange")
    assert found.local_bandwidth_bytes_per_s == 1e11
    assert np.isinf(found.bandwidth_bytes_per_s)
    assert n_workers(ONE).tolist() == [1.0, 8.0]


def test_a_link_that_is_used_is_needed_and_makes_sense() -> None:
    with pytest.raises(UsageError, match=r"neither a time of 'exchange' nor the run's 'latency_s'"):
        links_of({**ONE, **LOCAL, "n_nodes": np.array([1.0, 2.0])}, "exchange")
    with pytest.raises(DataError, match=r"got 0 for 'local_bandwidth_bytes_per_s', expected more than 0"):
        links_of({**ONE, **LOCAL, "local_bandwidth_bytes_per_s": np.array([0.0])}, "exchange")
    with pytest.raises(DataError, match=r"got -1 for 'local_latency_s', expected at least 0"):
        links_of({**ONE, **LOCAL, "local_latency_s": np.array([-1.0])}, "exchange")
    with pytest.raises(UsageError, match="gradient_bytes"):
        needed_column(ONE, "gradient_bytes", "exchange")
