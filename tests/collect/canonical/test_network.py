"""Ping-pong over the loopback, and the flags of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mlperf.collect.canonical import network
from mlperf.collect.canonical.network import SIZES, NetworkRequest, collect_network, network_flags
from mlperf.collect.trainer.launch import STOPPED
from mlperf.core.errors import InterruptedRun, UsageError
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


def test_the_same_call_goes_on_where_it_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launches: list[int] = []
    n_hosts, left = 1, 3

    def answer(launcher: list[str], n_ranks: int, module: str, job: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG001
        if len(job["trips"]) == len(SIZES):
            launches.append(n_ranks)
            if len(launches) > left:
                raise InterruptedRun(STOPPED, hint="Nothing of this launch is kept.")
        return {"times_s": [[1e-6]] * len(job["trips"]), "n_hosts": n_hosts}

    monkeypatch.setattr(network, "mpiexec_command", lambda asked: [asked or "mpiexec"])
    monkeypatch.setattr(network, "answer_of_ranks", answer)
    request = NetworkRequest(tmp_path, rounds=2, most_pairs=2)
    with pytest.raises(InterruptedRun) as stopped:
        collect_network(request)
    assert "every finished launch is in the tables" in str(stopped.value)
    assert "The same command continues where this one stopped." in str(stopped.value)
    launches, left = [], 99
    assert collect_network(request).n_rows == 4 * len(SIZES)
    assert launches == [4]
    launches = []
    assert collect_network(request).n_rows == 4 * len(SIZES)
    assert launches == []
    n_hosts = 2
    assert collect_network(request).n_rows == 8 * len(SIZES), "over another transport nothing is there yet"
