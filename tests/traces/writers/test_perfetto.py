"""Archives of ranks with a manifest."""

from __future__ import annotations

import json
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from stepped_programs import N_RANKS, binary_swap

from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.writers.perfetto import MANIFEST, write_perfetto

EPOCH = 1_700_000_000_000_000_000


def manifest_of(path: Path) -> dict[str, object]:
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist()[0] == MANIFEST
        found: dict[str, object] = json.loads(archive.read(MANIFEST))["perfetto_manifest"]
        return found


def test_every_rank_has_its_file_clock_and_uncertainty(tmp_path: Path) -> None:
    table = binary_swap().replace(origin_ns=EPOCH, attributes={"n_ranks": 8, "clock_uncertainty_ns": {2: 750.0}})
    write_perfetto(table, tmp_path / "x.zip")
    manifest = manifest_of(tmp_path / "x.zip")
    assert manifest["version"] == 1
    files = {each["attributes"]["rank"]: each for each in manifest["files"]}  # type: ignore[union-attr]
    assert sorted(files) == list(range(N_RANKS))
    first = [int(table.start_ns[table.rank == rank].min()) for rank in range(N_RANKS)]
    assert [files[rank]["clocks"]["offset_ns"] for rank in range(N_RANKS)] == [EPOCH + each for each in first]
    assert files[2]["attributes"]["offset_uncertainty_ns"] == 750.0
    assert files[3]["attributes"]["offset_uncertainty_ns"] == "unknown"


@pytest.mark.parametrize("suffix", [".zip", ".tar"])
def test_the_archive_is_read_as_the_same_table(tmp_path: Path, suffix: str) -> None:
    table = binary_swap()
    write_perfetto(table, tmp_path / f"x{suffix}")
    found = read_chrome(tmp_path / f"x{suffix}")
    for name in ("start_ns", "duration_ns", "rank", "kind", "peer", "size_bytes", "match", "corr", "flags", "step"):
        assert np.array_equal(getattr(found, name), getattr(table, name)), name
    assert tarfile.is_tarfile(tmp_path / "x.tar") if suffix == ".tar" else zipfile.is_zipfile(tmp_path / "x.zip")
