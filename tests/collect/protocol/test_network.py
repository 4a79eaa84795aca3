"""Which network runs of a folder waited for, as host.json tells it of either trainer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mlperf.collect.protocol.network import check_same_network, network_waited
from mlperf.collect.servers.request import EmulatedNetwork
from mlperf.collect.trainer.network import Network
from mlperf.core.errors import DataError, UsageError


def write(folder: Path, **said: Any) -> None:
    (folder / "host.json").write_text(json.dumps({"protocol": {"asgd": said}}), encoding="utf-8")


def test_a_campaign_waits_for_one_network(tmp_path: Path) -> None:
    """A record of the time when there was one form of exchange means that one; a real network is none that is waited for."""
    check_same_network(tmp_path, "asgd", Network(exchange="tree"))
    write(tmp_path, waits={"gradient": []}, network={"latency_s": 1.0, "bytes_per_s": 1.0})
    check_same_network(tmp_path, "asgd", Network(exchange="tree"))
    write(tmp_path, waits={"network": ["allreduce"]}, network={"latency_s": 5e-6, "bytes_per_s": 3e9})
    check_same_network(tmp_path, "asgd", Network())
    with pytest.raises(UsageError, match=r"exchange='tree'.*exchange='halving-doubling'"):
        check_same_network(tmp_path, "asgd", Network(exchange="tree"))


def test_the_records_of_two_trainers_in_one_folder_are_told_apart(tmp_path: Path) -> None:
    write(tmp_path, waits=[], network={}, network_waited={"latency_s": 1e-3})
    assert network_waited(tmp_path, "asgd") == {"latency_s": 1e-3}
    assert network_waited(tmp_path, "ps") == {}
    check_same_network(tmp_path, "ps", EmulatedNetwork(1e-6))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"network_waited": {"colour": 1}}, r"\$\.protocol\.asgd\.network_waited: got 'colour', expected some of bytes_per_s"),
        ({"network_waited": 5}, r"network_waited: got 5, expected an object"),
        ({"waits": ["network"], "network": 5}, r"network: got 5, expected an object"),
    ],
)
def test_a_record_of_something_else_is_named(tmp_path: Path, said: dict[str, Any], words: str) -> None:
    write(tmp_path, **said)
    with pytest.raises(DataError, match=words):
        check_same_network(tmp_path, "asgd", Network())
