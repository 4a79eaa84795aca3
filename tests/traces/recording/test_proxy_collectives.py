"""Collective operations under the proxy."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from mlperf.traces.events.table import EventTable

pytestmark = pytest.mark.slow


def test_members_of_an_operation_share_a_number(proxy_talked: EventTable) -> None:
    table = proxy_talked
    names = np.array(table.text(table.name))
    for name, n_operations, n_members, roots in (
        ("MPI_Bcast", 2, 2, {2, 3}),
        ("MPI_Gather", 1, 4, {3}),
        ("MPI_Barrier", 3, 4, {-1}),
    ):
        rows = np.flatnonzero(names == name)
        assert Counter(Counter(table.corr[rows].tolist()).values()) == {n_members: n_operations}, name
        assert set(table.peer[rows].tolist()) == roots
    sums = np.flatnonzero((names == "MPI_Allreduce") & (table.size_bytes == 8))
    assert len(set(table.corr[sums].tolist())) == 2


def test_only_the_root_of_an_object_contributes(proxy_talked: EventTable) -> None:
    table = proxy_talked
    rows = np.flatnonzero(np.array(table.text(table.name)) == "MPI_Bcast")
    assert ((table.size_bytes[rows] > 0) == (table.rank[rows] == table.peer[rows])).all()
