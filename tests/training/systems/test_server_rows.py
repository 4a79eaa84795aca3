"""Workers, servers and groups from whichever columns tell them; a cell that is none is named."""

from __future__ import annotations

import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.training.systems.server_rows import group_keys, numbers_in, server_counts, worker_counts


def test_workers_are_counted_or_multiplied_and_servers_are_one_where_nothing_is_said() -> None:
    assert worker_counts(pd.DataFrame({"n_workers": ["3", 4]})).tolist() == [3.0, 4.0]
    table = pd.DataFrame({"n_nodes": [2, 3], "n_gpus_per_node": [4, 1]})
    assert worker_counts(table).tolist() == [8.0, 3.0]
    assert server_counts(table).tolist() == [1.0, 1.0]
    assert server_counts(table.assign(n_servers=[2, 3])).tolist() == [2.0, 3.0]


def test_a_cell_that_is_no_count_is_named() -> None:
    with pytest.raises(DataError, match="row 2, column n_servers: got 0, expected 1, 2, 3"):
        server_counts(pd.DataFrame({"n_servers": [1, 0]}))
    with pytest.raises(DataError, match="row 1, column rate: got 'many', expected a number"):
        numbers_in(pd.DataFrame({"rate": ["many"]}), "rate")
    with pytest.raises(DataError, match="expected n_workers, or n_nodes"):
        worker_counts(pd.DataFrame({"n_nodes": [1]}))


def test_labels_of_a_row_are_text_and_none_without_columns() -> None:
    table = pd.DataFrame({"cnn": ["a", "b"], "subbatch_size": [8, 16]})
    assert group_keys(table, ("cnn", "subbatch_size")) == [("a", "8"), ("b", "16")]
    assert group_keys(table, ()) == [(), ()]
    with pytest.raises(DataError, match="expected 'device' among them"):
        group_keys(table, ("device",))


def test_a_column_that_may_count_workers_is_named() -> None:
    with pytest.raises(DataError, match="Call 'workers' n_workers where it counts all workers"):
        worker_counts(pd.DataFrame({"workers": [1, 2], "updates_per_s": [1.0, 2.0]}))
