"""Bundled campaigns: every one reads, is described, and is exported without a change in content."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.datasets import TABLES, bundled_names, bundled_path, export_campaign, list_data, load_campaign, read_campaign
from mlperf.datasets.campaigns import bundled
from mlperf.datasets.campaigns.contractions import bundled_contractions, contraction_path
from mlperf.datasets.catalogue import listing

pytestmark = pytest.mark.slow

README = "# Five steps of a small network\n\nMeasured for the tests. **Licence** BSD-3-Clause. **Machine** none.\n"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_small_campaign: Callable[..., Path]) -> Path:
    """A shelf with one campaign, ``demo``, packed."""
    folder = write_small_campaign(tmp_path / "shelf" / "demo", suffix=".csv.gz")
    (folder / "README.md").write_text(README, encoding="utf-8")
    (tmp_path / "shelf" / "notes").mkdir()
    monkeypatch.setattr(bundled, "HOME", tmp_path / "shelf")
    monkeypatch.delenv("MLPERF_SHARED_DATA", raising=False)
    return folder


def test_every_bundled_campaign_reads() -> None:
    listed = {one.name: one for one in list_data().data_sets}
    for name in bundled_names():
        found = read_campaign(name)
        assert found.name == Path(name).name
        assert found.tables
        assert listed[name].description
        assert listed[name].licence != "see its README"


def test_rows_of_what_ships_are_told_as_counted_and_nothing_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A campaign that is new or changed needs its line of ``data/rows.csv``, as the left side has it."""
    ship = {name: bundled_path(name) for name in bundled_names()} | {
        name: contraction_path(name) for name in bundled_contractions()
    }
    counted = {name: listing.count_rows(folder) for name, folder in ship.items()}
    assert counted == bundled.bundled_rows()
    monkeypatch.delenv("MLPERF_SHARED_DATA", raising=False)
    monkeypatch.setattr(listing, "read_source", None)
    assert {one.name: one.n_rows for one in list_data().data_sets} == counted


def test_names_and_paths(shelf: Path) -> None:
    assert bundled_names() == ("demo",)
    assert bundled_path("demo") == shelf
    assert load_campaign("demo").sha256 == read_campaign("demo").sha256
    with pytest.raises(UsageError, match="got 'dem'") as caught:
        bundled_path("dem")
    assert "'demo'" in str(caught.value.hint)
    with pytest.raises(DataError) as missing:
        read_campaign("demmo")
    assert "'demo'" in str(missing.value.hint)


def test_campaigns_that_belong_together_have_one_folder(shelf: Path) -> None:
    """Described each by itself; what stands beside them is none."""
    for name in ("ring", "tree"):
        shutil.copytree(shelf, shelf.parent / "judged" / name)
    assert bundled_names() == ("demo", "judged/ring", "judged/tree")
    assert read_campaign("judged/tree").sha256 == read_campaign("demo").sha256
    assert [one.name for one in list_data().data_sets] == ["demo", "judged/ring", "judged/tree"]


def test_a_folder_goes_before_a_bundled_name(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export_campaign("demo", tmp_path / "demo")
    monkeypatch.chdir(tmp_path)
    assert read_campaign("demo").path == Path("demo")
    assert shelf.is_dir()


def test_listing(shelf: Path) -> None:
    (one,) = list_data().data_sets
    assert (one.name, one.kind, one.description, one.licence) == (
        "demo",
        "campaign",
        "Five steps of a small network",
        "BSD-3-Clause",
    )
    assert one.n_rows == sum(len(frame) for name, frame in read_campaign(shelf).tables.items() if not TABLES[name].folder)
    assert list(list_data().to_frame().columns) == ["name", "kind", "description", "n_rows", "licence"]


@pytest.mark.parametrize("gz", [False, True])
def test_export_keeps_the_content(gz: bool, shelf: Path, tmp_path: Path) -> None:
    made = export_campaign("demo", tmp_path / "copy", gz=gz)
    assert all((tmp_path / "copy" / file).is_file() for file in made.files)
    assert ("steps.csv.gz" if gz else "steps.csv") in made.files
    assert {"host.json", "README.md", "cnns/tiny.toml"} <= set(made.files)
    assert read_campaign(tmp_path / "copy").sha256 == read_campaign(shelf).sha256


def test_export_does_not_overwrite(shelf: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    export_campaign("demo", copy)
    (copy / "steps.csv").write_text("mine", encoding="utf-8")
    for gz in (False, True):
        with pytest.raises(UsageError, match=r"copy: holds .* already") as caught:
            export_campaign("demo", copy, gz=gz)
        assert "--force" in str(caught.value.hint)
    assert (copy / "steps.csv").read_text(encoding="utf-8") == "mine"
    export_campaign("demo", copy, gz=True, force=True)
    assert not (copy / "steps.csv").exists()
    assert read_campaign(copy).sha256 == read_campaign(shelf).sha256


def test_export_into_a_file(shelf: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match="is a file, expected a folder"):
        export_campaign("demo", file)
    assert shelf.is_dir()
