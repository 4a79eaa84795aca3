"""A campaign read back: tables, specifications, host, digest; and what keeps it from being read."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.datasets import TABLES, read_campaign
from mlperf.specs import CnnSpec

pytestmark = pytest.mark.slow

Write = Callable[..., Path]
Frames = dict[str, pd.DataFrame]


def test_tables_are_those_that_were_written(campaign: Path, small_frames: Frames, small_cnn: CnnSpec) -> None:
    found = read_campaign(campaign)
    assert list(found.tables) == list(TABLES)
    for name, frame in found.tables.items():
        pd.testing.assert_frame_equal(frame, small_frames[name][list(TABLES[name].names)], check_dtype=False)
    assert dict(found.cnns) == {"tiny": small_cnn}
    assert found.host == {"machine": {"name": "unit test"}}
    assert found.name == "campaign"
    assert found.path == campaign


def test_absent_tables_are_none(tmp_path: Path, write_small_campaign: Write) -> None:
    found = read_campaign(write_small_campaign(tmp_path, ("steps",)))
    assert found.kernels is None
    assert list(found.tables) == ["steps"]
    with pytest.raises(DataError, match=r"got steps.csv, expected also kernels.csv or kernels.csv.gz") as caught:
        found.table("kernels")
    assert "mlperf collect" in str(caught.value.hint)


def test_it_is_frozen_and_shows_itself(campaign: Path) -> None:
    found = read_campaign(campaign)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.name = "other"  # type: ignore[misc]
    shown = found.to_frame().set_index("table")
    assert shown.loc["steps"].tolist() == [3, 2, 1]
    assert json.loads(json.dumps(found.to_dict()))["n_rows"]["steps"] == 3
    assert "steps" in found._repr_html_()


def test_digest_is_that_of_sha256sum(campaign: Path) -> None:
    """The digest of the list that sha256sum prints for the files by name."""
    files = [*sorted(f"{schema.stem}.csv" for schema in TABLES.values()), "cnns/tiny.toml", "host.json"]
    lines = [f"{hashlib.sha256((campaign / file).read_bytes()).hexdigest()}  {file}\n" for file in sorted(files)]
    assert read_campaign(campaign).sha256 == hashlib.sha256("".join(lines).encode()).hexdigest()


def test_digest_does_not_depend_on_packing_place_or_notes(tmp_path: Path, write_small_campaign: Write) -> None:
    plain = write_small_campaign(tmp_path / "plain")
    packed = write_small_campaign(tmp_path / "packed", suffix=".csv.gz")
    (packed / "README.md").write_text("# Notes\n", encoding="utf-8")
    assert read_campaign(plain).sha256 == read_campaign(packed).sha256


@pytest.mark.parametrize(
    ("file", "old", "new"), [("steps.csv", "0.0021", "0.0022"), ("cnns/tiny.toml", "relu", "tanh"), ("host.json", "unit", "Unit")]
)
def test_digest_changes_with_the_content(file: str, old: str, new: str, campaign: Path) -> None:
    before = read_campaign(campaign).sha256
    text = (campaign / file).read_text(encoding="utf-8")
    assert old in text
    (campaign / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    assert read_campaign(campaign).sha256 != before


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="got nothing, expected the folder of a campaign"):
        read_campaign(tmp_path / "none")
    with pytest.raises(DataError, match=r"got no table, expected one of sgemm.csv"):
        read_campaign(tmp_path)
    file = tmp_path / "steps.csv"
    file.write_text("x", encoding="utf-8")
    with pytest.raises(DataError, match="got a file, expected the folder"):
        read_campaign(file)


def test_two_files_of_one_table(campaign: Path) -> None:
    (campaign / "steps.csv.gz").write_bytes(b"")
    with pytest.raises(DataError, match=r"steps.csv.gz: stands beside steps.csv"):
        read_campaign(campaign)


def test_misnamed_table_is_not_passed_over(campaign: Path) -> None:
    (campaign / "kernel.csv").write_text("x\n1\n", encoding="utf-8")
    with pytest.raises(DataError, match="got table 'kernel'") as caught:
        read_campaign(campaign)
    assert "'kernels'" in str(caught.value.hint)


def test_host_that_is_no_json_object(campaign: Path) -> None:
    (campaign / "host.json").write_text('{\n "a": }', encoding="utf-8")
    with pytest.raises(DataError, match=r"host.json, line 2, column \d+: is no JSON"):
        read_campaign(campaign)
    (campaign / "host.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(DataError, match="got a list, expected an object"):
        read_campaign(campaign)
    (campaign / "host.json").unlink()
    assert read_campaign(campaign).host == {}


def test_specification_of_another_name(campaign: Path) -> None:
    (campaign / "cnns" / "tiny.toml").rename(campaign / "cnns" / "small.toml")
    with pytest.raises(DataError, match=r"small.toml, name: got 'tiny', expected 'small'"):
        read_campaign(campaign)


def test_a_large_campaign_is_read_whole(tmp_path: Path, small_frames: Frames, small_cnn: CnnSpec) -> None:
    """130,000 rows of kernels; `benchmarks/sprint_speed.py` times them."""
    import numpy as np

    from mlperf.datasets import write_table
    from mlperf.specs import write_cnn

    base = small_frames["kernels"]
    frame = pd.concat([base] * (130_000 // len(base)), ignore_index=True)
    frame["sequence"] = np.arange(len(frame))
    write_table(frame, tmp_path / "kernels.csv.gz", "kernels")
    write_cnn(small_cnn, tmp_path / "cnns" / "tiny.toml")
    assert len(read_campaign(tmp_path).table("kernels")) == len(frame)
