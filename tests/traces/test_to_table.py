"""Traces as measurement tables: parts add up, keys are joined, and a model is fitted to the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from profiles import training_job

from mlperf.core.errors import DataError
from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.timeline.steps import steps_of_ranks
from mlperf.traces.to_table import TraceTable, read_keys, read_mapping, run_name, to_table

MAPPING = """
warm_up = 1

[components.gemm]
kind = "KERNEL"
name = "sgemm"

[components.exchange]
kind = ["COLL"]

[components.waiting]
kind = "API"
name = "Synchronize"
category = "cuda_runtime"
"""


def mapping_file(tmp_path: Path, text: str = MAPPING) -> Path:
    path = tmp_path / "mapping.toml"
    path.write_text(text, encoding="utf-8")
    return path


def table_of(tmp_path: Path, text: str = MAPPING, n_steps: int = 4, keys: pd.DataFrame | None = None) -> TraceTable:
    trace = read_chrome(training_job(tmp_path / "job", [[30.0, 10.0]] * n_steps)[0])
    return to_table(
        {"job": (trace, steps_of_ranks(trace)[0])}, read_mapping(mapping_file(tmp_path, text)), keys, tmp_path / "t.csv"
    )


def test_parts_add_up_to_the_nanosecond(tmp_path: Path) -> None:
    """Of 187 us the product has 100, the exchange 50 and 70, the rest of the waiting lies before and after them."""
    found = table_of(tmp_path)
    assert found.closure_ns == 0
    first = found.iterations[found.iterations["rank"] == 0]
    assert first["iteration"].tolist() == [1, 2, 3], "one step of warm-up"
    assert first[["step_ns", "gemm_ns", "exchange_ns"]].to_numpy().tolist() == [[187_000, 100_000, 50_000]] * 3
    assert (first["waiting_ns"] + first["other_ns"]).tolist() == [37_000] * 3
    assert set(first["gemm_calls"]) == {1}
    row = found.table.iloc[0]
    assert row["exchange_s"] == pytest.approx(60e-6)
    assert row["exchange_std_s"] == pytest.approx(np.std([50, 70] * 3, ddof=1) * 1e-6)
    assert (row["n_iterations"], row["n_ranks"]) == (3, 2)
    pd.testing.assert_frame_equal(pd.read_csv(found.file), found.table)


def test_sums_count_overlaps_twice(tmp_path: Path) -> None:
    found = table_of(tmp_path, 'overlap = "sum"\n' + MAPPING)
    assert found.closure_ns == -1
    first = found.iterations[found.iterations["rank"] == 0].iloc[0]
    assert first["waiting_ns"] == 151_000, "from 6 us after the launch to the end"


def test_a_component_without_events_is_told(tmp_path: Path) -> None:
    found = table_of(tmp_path, '[components.none]\nname = "nothing"\n')
    assert "no event of any run belongs to component none" in found.notes
    assert found.table["none_s"].tolist() == [0.0]


def test_keys_are_joined_and_missing_ones_refused(tmp_path: Path) -> None:
    path = tmp_path / "keys.csv"
    path.write_text("run,batch,network\njob,32,resnet\n", encoding="utf-8")
    row = table_of(tmp_path, keys=read_keys(path)).table.iloc[0]
    assert (row["run"], row["batch"], row["network"]) == ("job", 32, "resnet")
    path.write_text("run,batch\nother,32\n", encoding="utf-8")
    with pytest.raises(DataError, match="no row for run 'job'"):
        table_of(tmp_path, keys=read_keys(path))
    for text in ("batch\n1\n", "run\na\na\n", ""):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match="keys"):
            read_keys(path)


def test_nothing_left_after_warm_up_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no iteration after 1 of warm-up"):
        table_of(tmp_path, n_steps=1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[components]",
        "warm_up = -1",
        'overlap = "both"',
        "[component.a]\n",
        '[components.A]\nname = "a"',
        "[components.step]\nname = 'a'",
        "[components.a]\n",
        "[components.a]\nnames = 'a'",
        "[components.a]\nname = '('",
        "[components.a]\nname = 3",
        "[components.a]\nkind = 'WALTZ'",
        "[components.a]\nkind = [3]",
    ],
)
def test_wrong_mappings_are_refused(text: str, tmp_path: Path) -> None:
    path = mapping_file(tmp_path, text)
    with pytest.raises(DataError, match=r"mapping\.toml"):
        read_mapping(path)


def test_runs_are_called_as_their_files() -> None:
    assert run_name(Path("a/b.json.gz"), {}) == "b"
    assert run_name(Path("a/b.json"), {"b"}) == "a/b"
    with pytest.raises(DataError, match="second run"):
        run_name(Path("a/b.json"), {"b", "a/b"})
