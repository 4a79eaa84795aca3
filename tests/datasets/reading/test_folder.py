"""What host.json tells: an object by the names that lead to it, and nothing else in its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.datasets import read_campaign
from mlperf.datasets.reading.folder import find_campaign, read_host, told

pytestmark = pytest.mark.slow

HOST = {"host": {"cache_bytes": {"L1d": 49152}}, "protocol": {"asgd": 3, "none": None}}


def test_objects_are_found_by_name_and_missing_ones_are_empty() -> None:
    folder = Path("campaign")
    assert told(HOST, folder, "host", "cache_bytes") == {"L1d": 49152}
    for names in (("versions",), ("host", "device", "name"), ("protocol", "none", "x"), ("protocol", "other")):
        assert told(HOST, folder, *names) == {}


def test_another_thing_in_the_place_of_an_object_is_named() -> None:
    with pytest.raises(DataError, match=r"host\.json: \$\.protocol\.asgd: got 3, expected an object"):
        told(HOST, Path("campaign"), "protocol", "asgd", "network")


def test_caches_of_a_host_are_numbers_of_bytes() -> None:
    campaign = read_campaign("cpu-epyc")
    assert campaign.cache_bytes == {"L1d": 49152, "L2": 1048576, "L3": 33554432}


@pytest.mark.parametrize("content", [b"[]", b"{", b"\xff", b'{"a": ' + b"9" * 400 + b"}", b"[" * 100_000])
def test_a_host_that_is_none_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "host.json").write_bytes(content)
    with pytest.raises(DataError, match=r"host\.json"):
        read_host(tmp_path)


def test_a_folder_without_a_host_tells_nothing(tmp_path: Path) -> None:
    assert read_host(tmp_path) == {}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("exchange", "mlperf train {}/runs.csv --system data-parallel"),
        ("ps_runs", "mlperf compare constants.json {}/ps_runs.csv"),
        ("canonical", "mlperf train {} --system model-parallel"),
        ("network", "mlperf train {} --system model-parallel"),
    ],
)
def test_a_folder_of_another_command_is_told_what_takes_it(table: str, words: str, tmp_path: Path) -> None:
    (tmp_path / f"{table}.csv").touch()
    with pytest.raises(DataError, match=f"got table '{table}'") as caught:
        find_campaign(tmp_path)
    assert words.format(tmp_path) in str(caught.value)


def test_synchronous_runs_without_an_exchange_are_told_what_takes_them(tmp_path: Path) -> None:
    """Runs of one process have no exchange.csv: their runs.csv has the name of the asynchronous one."""
    (tmp_path / "runs.csv").write_text("mode,engine,cnn,n_nodes,step_s\nreal,numpy+mpi,digits,1,0.01\n", encoding="utf-8")
    with pytest.raises(DataError, match="got runs of mlperf collect ddp") as caught:
        read_campaign(tmp_path)
    assert caught.value.place == f"{tmp_path / 'runs.csv'}, line 1, column engine"
    assert f"mlperf train {tmp_path}/runs.csv --system data-parallel" in str(caught.value)
