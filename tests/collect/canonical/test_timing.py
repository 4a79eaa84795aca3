"""A block of calls against work whose cost is known by its ratio."""

from __future__ import annotations

import numpy as np

from mlperf.collect.canonical.cases import Case, call_of
from mlperf.collect.canonical.timing import block_s, row_of
from mlperf.datasets.dictionary.server_schema import CANONICAL


def test_sixteen_times_the_work_takes_several_times_as_long() -> None:
    small, large = np.ones((300, 300), dtype=np.float32), np.ones((1200, 1200), dtype=np.float32)
    assert 4.0 < block_s(lambda: np.sqrt(large)) / block_s(lambda: np.sqrt(small)) < 80.0


def test_a_row_has_the_tables_columns() -> None:
    case = Case("fc", "forward", (30, 20))
    sample = {"round": 1, "sequence": 1, "load": 0.0, "reference_s": 0.0}
    assert tuple(row_of(case, call_of(case), 1e-6, 1, sample)) == CANONICAL.names
