"""Tables written: whole, strict, every digit, the same bytes each time."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.datasets import TABLES, read_table, write_table

pytestmark = pytest.mark.slow

Frames = dict[str, pd.DataFrame]


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
@pytest.mark.parametrize("table", list(TABLES))
def test_round_trip_keeps_every_digit(table: str, suffix: str, tmp_path: Path, small_frames: Frames) -> None:
    path = tmp_path / f"{table}{suffix}"
    write_table(small_frames[table], path, table)
    found = read_table(path, table)
    pd.testing.assert_frame_equal(found, small_frames[table][list(TABLES[table].names)], check_dtype=False, check_exact=True)


def test_cells_with_nothing_to_say_are_empty(tmp_path: Path, small_frames: Frames) -> None:
    path = tmp_path / "kernels.csv"
    write_table(small_frames["kernels"], path, "kernels")
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[1].startswith("numpy,tiny,1,im2col,conv1,0,0,0,,10800,")
    assert lines[2].startswith("numpy,tiny,1,convolution,conv1,100,4,27,NN,,")


def test_missing_values_may_stand_for_cells_with_nothing_to_say(tmp_path: Path, small_frames: Frames) -> None:
    frame = small_frames["kernels"].copy()
    frame["access_bytes"] = frame["access_bytes"].astype(float).where(frame["m"] == 0, np.nan)
    frame["trans"] = frame["trans"].where(frame["m"] > 0, None)
    write_table(frame, tmp_path / "a.csv", "kernels")
    write_table(small_frames["kernels"], tmp_path / "b.csv", "kernels")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_gzip_bytes_do_not_depend_on_time_and_name(tmp_path: Path, small_frames: Frames) -> None:
    write_table(small_frames["steps"], tmp_path / "a.csv.gz", "steps")
    time.sleep(1.1)
    write_table(small_frames["steps"], tmp_path / "b.csv.gz", "steps")
    write_table(small_frames["steps"], tmp_path / "c.csv", "steps")
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()) == (tmp_path / "c.csv").read_bytes()


def test_rows_are_counted_from_0_whatever_the_index(tmp_path: Path, small_frames: Frames) -> None:
    frame = small_frames["steps"].set_index(pd.Index([7, 7, 3]))
    write_table(frame, tmp_path / "steps.csv", "steps")
    assert len(read_table(tmp_path / "steps.csv", "steps")) == 3
    with pytest.raises(DataError, match="row 2 of the frame, column cpu_s"):
        write_table(frame.assign(cpu_s=[1.0, -1.0, 1.0]), tmp_path / "steps.csv", "steps")


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("cpu_s", [0.1, float("nan"), 0.1], "row 2 of the frame, column cpu_s: got 'nan', expected seconds > 0"),
        ("cpu_s", [0.1, 0.1, float("inf")], "row 3 of the frame, column cpu_s: got 'inf'"),
        ("cpu_s", [0.1, "x", 0.1], "row 2 of the frame, column cpu_s: got 'x'"),
        ("cpu_s", [0.0, 0.1, 0.1], "row 1 of the frame, column cpu_s: got '0.0', expected seconds > 0"),
        ("wall_s", [0.1, -0.1, 0.1], "row 2 of the frame, column wall_s: got '-0.1'"),
        ("round", [1, 1.5, 2], "row 2 of the frame, column round: got '1.5', expected an integer"),
        ("cnn", ["tiny", "", "tiny"], "row 2 of the frame, column cnn"),
    ],
)
def test_what_could_not_be_read_is_not_written(
    column: str, values: list[object], words: str, tmp_path: Path, small_frames: Frames
) -> None:
    path = tmp_path / "steps.csv"
    with pytest.raises(DataError, match=words):
        write_table(small_frames["steps"].assign(**{column: values}), path, "steps")
    assert not path.exists()


def test_columns_must_be_the_tables(tmp_path: Path, small_frames: Frames) -> None:
    with pytest.raises(DataError) as caught:
        write_table(small_frames["steps"].rename(columns={"cpu_s": "cpu_ms"}), tmp_path / "steps.csv", "steps")
    assert caught.value.hint == "too many: cpu_ms; missing: cpu_s"


def test_the_frame_is_not_changed(tmp_path: Path, small_frames: Frames) -> None:
    before = small_frames["kernels"].copy()
    write_table(small_frames["kernels"], tmp_path / "kernels.csv", "kernels")
    pd.testing.assert_frame_equal(small_frames["kernels"], before)


def test_what_nobody_looked_at_has_no_column_in_the_file(tmp_path: Path, small_frames: Frames) -> None:
    path = tmp_path / "steps.csv"
    write_table(small_frames["steps"].drop(columns=["sequence"]).assign(wall_s=np.nan, load=np.nan), path, "steps")
    assert path.read_text(encoding="utf-8").splitlines()[0] == "backend,cnn,subbatch_size,step_s,cpu_s,round,reference_s"
    again = tmp_path / "again.csv"
    write_table(read_table(path, "steps").drop(columns=["sequence"]), again, "steps")
    assert again.read_bytes() == path.read_bytes()
    with pytest.raises(DataError, match="row 2 of the frame, column load"):
        write_table(small_frames["steps"].assign(load=[0.1, np.nan, 0.2]), path, "steps")
