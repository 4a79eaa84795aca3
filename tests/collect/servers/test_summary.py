"""Runs as a table for people."""

from __future__ import annotations

import pandas as pd

from mlperf.collect.servers.summary import SHOWN, ServerRuns
from mlperf.datasets.dictionary.server_schema import PS_RUNS


def test_shown_columns_are_some_of_the_tables() -> None:
    assert set(SHOWN) < set(PS_RUNS.names)
    runs = pd.DataFrame([dict.fromkeys(PS_RUNS.names, 1)])
    assert tuple(ServerRuns("folder", "real", runs, 0).to_frame().columns) == SHOWN
