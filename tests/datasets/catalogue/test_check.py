"""The check of a campaign finds every file's first problem, or says what is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.datasets import check_data, read_campaign
from mlperf.datasets.campaigns.digest import table_sha256

pytestmark = pytest.mark.slow


def test_a_right_campaign(campaign: Path) -> None:
    found = check_data(campaign)
    assert found.is_valid
    assert found.sha256 == read_campaign(campaign).sha256
    assert found.n_rows == {name: len(frame) for name, frame in read_campaign(campaign).tables.items()}
    assert found.to_frame()["table"].tolist() == list(found.n_rows)
    assert json.loads(json.dumps(found.to_dict()))["is_valid"] is True


def test_every_wrong_file_is_named_once(campaign: Path) -> None:
    for name, old, new in (("steps", "0.0021", "-1"), ("sgemm", "cpu_s", "cpu_ms"), ("runs", "99.5", "inf")):
        path = campaign / f"{name}.csv"
        path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    (campaign / "cnns" / "tiny.toml").write_text("nonsense", encoding="utf-8")
    found = check_data(campaign)
    assert not found.is_valid
    places = [Path(problem.place.partition(",")[0]).name for problem in found.problems]
    assert places == ["tiny.toml", "sgemm.csv", "steps.csv", "runs.csv"]
    assert set(found.n_rows) == {"kernels", "updates", "components", "details", "learning"}
    assert found.sha256 == ""
    assert list(found.to_frame().columns) == ["place", "message", "hint"]
    assert json.loads(json.dumps(found.to_dict()))["problems"][2]["message"] == "got '-1', expected seconds >= 0"


def test_contradictions_are_found_when_each_file_is_right(campaign: Path) -> None:
    path = campaign / "kernels.csv"
    path.write_text(path.read_text(encoding="utf-8").replace(",10800,", ",10801,", 1), encoding="utf-8")
    (problem,) = check_data(campaign).problems
    assert problem.place == f"{path}, line 2, column access_bytes"


def test_empty_folder(tmp_path: Path) -> None:
    (problem,) = check_data(tmp_path).problems
    assert "got no table" in problem.message


def test_single_files(campaign: Path, tmp_path: Path) -> None:
    assert check_data(campaign / "steps.csv").n_rows == {"steps": 3}
    other = tmp_path / "times.csv"
    other.write_text("a,time_ms\n1,2\n2,\n", encoding="utf-8")
    (problem,) = check_data(other, target="time_ms").problems
    assert problem.place == f"{other}, line 3, column time_ms"
    dropped = check_data(other, target="time_ms", na="drop")
    assert dropped.is_valid
    assert dropped.n_rows == {"times": 1}
    assert dropped.sha256 == table_sha256(other)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="got nothing, expected the folder of a campaign"):
        check_data(tmp_path / "none")
    (tmp_path / "times.csv").write_text("m,time_s\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"tims\.csv: there is no such file\n  hint: Did you mean 'times\.csv'"):
        check_data(tmp_path / "tims.csv", target="time_s")


def test_copies(campaign: Path) -> None:
    path = campaign / "steps.csv"
    text = path.read_text(encoding="utf-8")
    path.write_text(text + text.splitlines()[-1] + "\n", encoding="utf-8")
    assert "differs from line 4" in check_data(campaign).problems[0].message
    assert check_data(campaign, duplicates="drop").n_rows["steps"] == 3
    assert check_data(campaign, duplicates="keep").n_rows["steps"] == 4


SYNCHRONOUS = Path(__file__).parents[2] / "reference" / "parallel" / "synchronous" / "runs"


def test_synchronous_runs_are_told_from_asynchronous_ones_by_their_header(tmp_path: Path) -> None:
    """runs.csv of `mlperf collect ddp` and of the asynchronous trainer have the same name and other columns."""
    found = check_data(SYNCHRONOUS)
    assert found.is_valid
    assert found.n_rows == {"runs": 360, "exchange": sum(1 for _ in (SYNCHRONOUS / "exchange.csv").open()) - 1}
    assert check_data(SYNCHRONOUS / "runs.csv").n_rows == {"runs": 360}
    assert check_data(SYNCHRONOUS / "exchange.csv").is_valid
    (tmp_path / "runs.csv").write_text((SYNCHRONOUS / "runs.csv").read_text().replace("numpy+mpi", "abacus", 1))
    (wrong,) = check_data(tmp_path).problems
    assert "abacus" in wrong.message
    assert "column engine" in wrong.place
