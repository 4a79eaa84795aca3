"""Archives for Perfetto: every rank a file, its clock and offset in the manifest."""

from __future__ import annotations

import json
import tarfile
import zipfile
from pathlib import Path

import pytest
from profiles import training_job
from same import assert_same

from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.writers.perfetto import write_perfetto
from mlperf.traces.writers.registry import export_trace

CLOCKS = {"REALTIME", "REALTIME_COARSE", "MONOTONIC", "MONOTONIC_COARSE", "MONOTONIC_RAW", "BOOTTIME"}
"""Names that the format's version 1 knows."""


@pytest.mark.parametrize("name", ["a.zip", "a.tar"])
def test_all_ranks_come_back(name: str, tmp_path: Path) -> None:
    table = read_chrome(training_job(tmp_path / "job", [[10.0, 30.0, 25.5], [12.0, 11.0, 40.0]])[0])
    table = table.replace(attributes={**table.attributes, "clock_uncertainty_ns": {0: 0.0, 1: 250.0, 2: float("inf")}})
    export_trace(table, tmp_path / name, "perfetto")
    found = read_chrome(tmp_path / name)
    finite = {**found.attributes, "clock_uncertainty_ns": table.attributes["clock_uncertainty_ns"]}
    assert_same(found.replace(attributes=finite), table)


@pytest.mark.parametrize("origin_ns", [0, 1_700_000_000_000_000_000])
def test_the_manifest_is_of_version_1(origin_ns: int, tmp_path: Path) -> None:
    """As its reference says: first in the archive, offsets whole numbers, clocks by name; fields of ours are passed over."""
    table = read_chrome(training_job(tmp_path / "job", [[10.0, 30.0]])[0]).replace(origin_ns=origin_ns)
    write_perfetto(table, tmp_path / "a.zip")
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        names = archive.namelist()
        assert names == sorted(names)
        manifest = json.loads(archive.read(names[0]))["perfetto_manifest"]
        documents = {name: json.loads(archive.read(name)) for name in names[1:]}
    assert manifest["version"] == 1
    assert [each["path"] for each in manifest["files"]] == list(documents)
    for rank, each in enumerate(manifest["files"]):
        clocks = each["clocks"]
        assert type(clocks["offset_ns"]) is int
        assert each["machine"] == {"name": f"rank {rank}"}
        assert each["attributes"] == {"rank": rank, "offset_uncertainty_ns": "unknown"}
        first = min(event["ts"] for event in documents[each["path"]]["traceEvents"] if event["ph"] == "X")
        assert first == 0
        rows = table.rank == rank
        assert clocks["offset_ns"] == origin_ns + table.start_ns[rows].min()
        assert clocks.get("is", {}).get("clock") in ({"REALTIME"} if origin_ns else {None})
    assert (manifest.get("trace_time", {}).get("clock") in CLOCKS) == bool(origin_ns)


def test_the_same_table_makes_the_same_file(tmp_path: Path) -> None:
    table = read_chrome(training_job(tmp_path / "job", [[10.0, 30.0]])[0])
    for name in ("a.tar", "b.tar"):
        write_perfetto(table, tmp_path / name)
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()
    with tarfile.open(tmp_path / "a.tar") as archive:
        assert len(archive.getnames()) == 3
