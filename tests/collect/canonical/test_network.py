"""Ping-pong over the loopback, and the flags of its rows."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from mlperf.collect.canonical.network import NetworkRequest, collect_network, network_flags
from mlperf.core.errors import UsageError
from mlperf.datasets.dictionary.server_schema import NETWORK
from mlperf.datasets.reading.read import read_table


def test_ping_pong_on_one_machine_is_marked_as_loopback(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    measured = collect_network(NetworkRequest(tmp_path, rounds=1, most_pairs=1))
    rows = read_table(tmp_path / "network.csv", NETWORK).set_index("size_bytes")
    assert set(rows["transport"]) == {"loopback"}
    assert rows.loc[1, "time_s"] < rows.loc[4**12, "time_s"] < 1.0
    assert measured.n_rows == 13
    assert "loopback" in measured.flags[0]


def test_a_message_faster_than_the_card_is_an_error() -> None:
    rows = pd.DataFrame({"transport": ["network"], "size_bytes": [10**6], "n_pairs": [1], "time_s": [1e-4]})
    assert network_flags(rows, 2e10) == ()
    with pytest.raises(UsageError, match="1e\\+10 bytes/s, expected at most the NIC's 1e\\+09"):
        network_flags(rows, 1e9)
