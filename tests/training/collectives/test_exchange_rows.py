"""Tables of exchanges: names of columns, machines, repeats, what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.training.collectives.exchange_rows import TIMES, exchange_rows, machines_of, terms_frame


def test_repeats_are_merged_to_their_median_and_their_scatter_is_told() -> None:
    table = pd.DataFrame({"n_ranks": [2, 2, 2, 4], "message_bytes": [8, 8, 8, 8], "time_s": [1.0, 3.0, 2.0, 5.0]})
    rows = exchange_rows(table)
    assert rows.frame["time_s"].tolist() == [2.0, 5.0]
    assert rows.noise == 0.5
    assert rows.frame["M"].tolist() == [1.0, 1.0]


def test_machines_come_from_columns_or_from_how_many_one_holds() -> None:
    told = pd.DataFrame({"n_nodes": [1, 2], "n_gpus_per_node": [8, 8], "size_bytes": [8, 8], "exchange_s": [1.0, 2.0]})
    asked = pd.DataFrame({"n_gpus": [8, 16], "size_bytes": [8, 8], "exchange_s": [1.0, 2.0]})
    for rows in (exchange_rows(told), exchange_rows(asked, n_gpus_per_node=8)):
        assert rows.frame[["N", "M"]].to_numpy().tolist() == [[8, 1], [16, 2]]
        assert rows.gpus_per_node == 8
    assert machines_of(np.array([2.0, 8.0, 9.0]), 8.0).tolist() == [1, 1, 2]


def test_times_are_taken_in_the_unit_that_their_name_ends_in() -> None:
    sizes = {"n_gpus": [2, 4], "size_bytes": [8, 8]}
    for name, factor in (("exchange_ms", 1e3), ("time_us", 1e6), ("median time (ms)", 1e3), ("seconds", 1.0)):
        rows = exchange_rows(pd.DataFrame({**sizes, name: [factor, 2.0 * factor]}), time=None if name in TIMES else name)
        assert rows.frame["time_s"].tolist() == pytest.approx([1.0, 2.0])
    with pytest.raises(DataError, match=r"expected the time as one of exchange_s, .*time_mean_s \(or _ms, _us, _ns\)"):
        exchange_rows(pd.DataFrame({**sizes, "took": [1.0, 2.0]}))


def test_one_participant_is_left_out_and_told() -> None:
    rows = exchange_rows(pd.DataFrame({"n_gpus": [1, 2], "size_bytes": [8, 8], "time_s": [1.0, 2.0]}))
    assert rows.frame["N"].tolist() == [2.0]
    assert rows.notes == ("1 rows of one participant left out: it exchanges nothing",)


def test_what_makes_no_sense_is_refused_with_its_place() -> None:
    good = {"n_gpus": [2, 4], "size_bytes": [8, 8], "time_s": [1.0, 2.0]}
    with pytest.raises(DataError, match=r"row 2, column time_s: got '-1.0'"):
        exchange_rows(pd.DataFrame(good | {"time_s": [1.0, -1.0]}))
    with pytest.raises(DataError, match="expected bytes of the vector"):
        exchange_rows(pd.DataFrame({"n_gpus": [2], "time_s": [1.0]}))
    with pytest.raises(DataError, match="two or more participants"):
        exchange_rows(pd.DataFrame(good | {"n_gpus": [1, 1]}))
    with pytest.raises(UsageError, match="got operation 'all_reduce', expected one of broadcast, scatter"):
        exchange_rows(pd.DataFrame(good | {"operation": ["broadcast", "scatter"]}))


def test_columns_of_the_terms() -> None:
    columns = terms_frame([4, 16], [1, 2], 8.0)
    assert columns["inside"].tolist() == [1, 0]
    assert columns["across"].tolist() == [0, 1]
    assert terms_frame([5], [1], 8.0)["ceil_log2_N"].tolist() == [3]
