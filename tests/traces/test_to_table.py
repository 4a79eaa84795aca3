"""Component times of runs as a table that a model is trained on."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from profiled_ranks import COPY_US, STEADY, TRANSFER_US, write_job

from mlperf.core.errors import DataError
from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.timeline.steps import steps_of_ranks
from mlperf.traces.to_table import ComponentMapping, TraceTable, read_keys, read_mapping, run_name, to_table

MAPPING = """
warm_up = 1
[components.gemm]
name = "sgemm"
[components.exchange]
kind = ["COLL"]
[components.copy]
category = "gpu_memcpy"
"""
US = 1e-6


@pytest.fixture
def mapping(tmp_path: Path) -> ComponentMapping:
    (tmp_path / "m.toml").write_text(MAPPING, encoding="utf-8")
    return read_mapping(tmp_path / "m.toml")


def made(folder: Path, mapping: ComponentMapping, factors: tuple[int, ...], **more: object) -> TraceTable:
    runs = {}
    for factor in factors:
        place = folder / f"run{factor}"
        place.mkdir()
        write_job(place, [[factor * each for each in work] for work in STEADY])
        table = read_chrome(place)
        runs[f"run{factor}"] = (table, steps_of_ranks(table)[0])
    return to_table(runs, mapping, **more)  # type: ignore[arg-type]


def test_components_are_means_after_warm_up_and_close(tmp_path: Path, mapping: ComponentMapping) -> None:
    """Steps 1 to 3 of three ranks."""
    found = made(tmp_path, mapping, (1,))
    row = found.table.iloc[0]
    work = [each for step in STEADY[1:] for each in step]
    waits = [max(step) - each + TRANSFER_US for step in STEADY[1:] for each in step]
    assert row["gemm_s"] == pytest.approx(sum(work) / 9 * US)
    assert row["exchange_s"] == pytest.approx(sum(waits) / 9 * US)
    assert row["copy_s"] == pytest.approx(COPY_US * US)
    assert row[["gemm_s", "exchange_s", "copy_s", "other_s"]].sum() == pytest.approx(row["step_s"])
    assert (row["n_iterations"], row["n_ranks"], found.closure_ns) == (3, 3, 0)


def test_keys_are_joined_by_run(tmp_path: Path, mapping: ComponentMapping) -> None:
    (tmp_path / "keys.csv").write_text("run,size\nrun1,100\nrun2,200\n", encoding="utf-8")
    found = made(tmp_path, mapping, (1, 2), keys=read_keys(tmp_path / "keys.csv"), file=tmp_path / "t.csv")
    written = pd.read_csv(tmp_path / "t.csv")
    assert written["size"].tolist() == [100, 200]
    assert written["gemm_s"][1] == pytest.approx(2 * written["gemm_s"][0])
    assert found.file == str(tmp_path / "t.csv")


def test_a_run_without_its_key_is_refused(tmp_path: Path, mapping: ComponentMapping) -> None:
    with pytest.raises(DataError, match="run1"):
        made(tmp_path, mapping, (1,), keys=pd.DataFrame({"run": ["other"], "size": [1]}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"has no \[components.NAME\]"),
        ("overlap = 'twice'\n[components.a]\nname = 'x'\n", "got 'twice', expected 'wall' or 'sum'"),
        ("warm_up = -1\n[components.a]\nname = 'x'\n", "got -1, expected a number of iterations"),
        ("warm = 1\n", "no key 'warm'.*warm_up"),
        ("[components.a]\nname = '('\n", "a"),
    ],
)
def test_a_wrong_mapping_names_its_key(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "m.toml").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_mapping(tmp_path / "m.toml")


def test_runs_are_called_by_their_files() -> None:
    assert run_name(Path("a/b.json.gz"), {}) == "b"
    assert run_name(Path("c/b.json"), {"b": 1}) != "b"
