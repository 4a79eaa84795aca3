"""Campaigns of contractions are read strictly: every wrong cell is named with file, line, column and value."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.datasets import (
    CONTRACTION_TABLES,
    check_data,
    describe_columns,
    export_campaign,
    list_data,
    read_contractions,
    write_table,
)
from mlperf.datasets.campaigns import bundled
from mlperf.datasets.campaigns.contractions import bundled_contractions

pytestmark = pytest.mark.slow

ROW = {
    "machine": "AMD EPYC family 26 model 2",
    "pattern_set": "twice",
    "compiler_flags": "gcc-12.2.0 -O2",
    "build": "gcc_O2",
    "N": 10,
    "offset_bytes": 0,
    "pattern": "ij-jlk-kil",
    "kernel": "k_ij_jlk_kil",
    "swap_group": "ij-jlk-kil",
    "n_operations": 10_000,
    "n_rounds": 2,
    "time_mean_s": 2e-5,
    "time_median_s": 2e-5,
    "time_min_s": 1e-5,
    "time_sd_s": 1e-6,
    "time_odd_s": 2e-5,
    "time_even_s": 2e-5,
    "wall_mean_s": 3e-5,
    "cycles_mean": 6e4,
    "operations_per_cycle": 10_000 / 6e4,
    "check_error": 0.0,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A campaign of two kernels, with host.json."""
    made = tmp_path / "two"
    write_table(pd.DataFrame([ROW, ROW | {"pattern": "ij-kil-jlk"}]), made / "times.csv", CONTRACTION_TABLES["times"])
    (made / "host.json").write_text('{"clock": {"source": "none"}}', encoding="utf-8")
    return made


def corrupt(folder: Path, old: str, new: str) -> None:
    """Change the first occurrence of a text in the table."""
    path = folder / "times.csv"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")


def test_a_campaign_reads(folder: Path) -> None:
    found = read_contractions(folder)
    assert found.times["time_mean_s"].tolist() == [2e-5, 2e-5]
    assert found.rounds is None
    assert found.host["clock"]["source"] == "none"
    assert found.to_frame()["n_kernels"].tolist() == [2]
    assert found.to_dict()["n_rows"] == {"times": 2}
    checked = check_data(folder)
    assert checked.is_valid
    assert checked.sha256 == found.sha256
    assert check_data(folder / "times.csv").n_rows == {"times": 2}


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ("2e-05", "-2e-05", "line 2, column time_mean_s", "got '-2e-05', expected seconds > 0"),
        ("2e-05", "fast", "line 2, column time_mean_s", "got 'fast', expected seconds"),
        ("time_mean_s", "time_mean_ms", "line 1, column time_mean_ms", "expected 'time_mean_s'"),
        (",10,0,", ",ten,0,", "line 2, column N", "got 'ten', expected an integer"),
        ("ij-kil-jlk", "ij-jlk-kil", "line 3, column pattern", "expected one row for each build"),
        ("gcc_O2,", ",", "line 2, column build", "expected a name"),
    ],
)
def test_a_wrong_cell_is_named(old: str, new: str, place: str, message: str, folder: Path) -> None:
    if new == "ij-jlk-kil":
        corrupt(folder, "gcc_O2,10,0,ij-kil-jlk", "gcc_O2,10,0,ij-jlk-kil")
        corrupt(folder, "2e-05", "3e-05")
    else:
        corrupt(folder, old, new)
    with pytest.raises(DataError, match=message) as caught:
        read_contractions(folder)
    assert place in str(caught.value.place)
    (problem,) = check_data(folder).problems
    assert place in problem.place


def test_no_campaign(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no times\.csv"):
        read_contractions(tmp_path)
    with pytest.raises(DataError, match="got nothing"):
        read_contractions(tmp_path / "absent")
    for suffix in ("", ".gz"):
        write_table(pd.DataFrame([ROW]), tmp_path / f"times.csv{suffix}", CONTRACTION_TABLES["times"])
    with pytest.raises(DataError, match="stands beside"):
        read_contractions(tmp_path)


def test_bundled_ones_are_listed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "README.md").write_text("# Two kernels\n\n**Licence** BSD-3-Clause.\n", encoding="utf-8")
    monkeypatch.setattr(bundled, "HOME", folder.parent)
    monkeypatch.delenv("MLPERF_SHARED_DATA", raising=False)
    assert bundled_contractions() == (folder.name,)
    assert bundled.bundled_names() == ()
    (one,) = list_data().data_sets
    assert (one.name, one.kind, one.n_rows) == (folder.name, "contractions", 2)
    assert read_contractions(folder.name).name == folder.name
    for gz in (False, True):
        copy = folder.parent / f"copy{gz}"
        assert export_campaign(folder.name, copy, gz=gz).files == (f"times.csv{'.gz' if gz else ''}", "host.json", "README.md")
        assert read_contractions(copy).sha256 == read_contractions(folder).sha256


def test_every_bundled_campaign_reads() -> None:
    for name in bundled_contractions():
        found = read_contractions(name)
        assert len(found.times)
        assert found.host["clock"]["source"]


def test_the_dictionary_describes_the_tables() -> None:
    for name, schema in CONTRACTION_TABLES.items():
        described = describe_columns(name)
        assert [one.column for one in described.columns] == list(schema.names)
        assert all(one.doc for one in described.columns)
