"""Recorded streams: exact numbers back, errors with their place, whole lines only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.datasets.streams import Recording, choose_performance, read_stream

GOOD = "t_s,interval_s,horizon_s,performance,units,cpu_ns,load1,phase\n0.0,0.25,1,units,0,5,1.5,a\n0.26,0.25,1,units,3,9,1.5,a\n"


def file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "stream.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_stream_knows_its_columns_and_settings(tmp_path: Path) -> None:
    stream = read_stream(file(tmp_path, GOOD))
    assert stream.columns == ("units", "cpu_ns", "load1")
    assert stream.settings == {"interval_s": "0.25", "horizon_s": "1", "performance": "units"}
    assert stream.interval_s == 0.25
    assert stream.values.tolist() == [[0.0, 5.0, 1.5], [3.0, 9.0, 1.5]]
    assert not stream.notes


def test_what_is_recorded_reads_back_to_the_last_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = np.column_stack(
        [np.cumsum(rng.random(50)), rng.random(50) * 10.0 ** rng.integers(-9, 15, 50), rng.integers(0, 2**52, 50)]
    )
    with Recording(tmp_path / "r.csv", ("t_s", "units", "cpu_ns")) as recording:
        for number, row in enumerate(rows):
            recording.add(row)
            assert (tmp_path / "r.csv").read_text(encoding="utf-8").count("\n") == number + 2
    stream = read_stream(tmp_path / "r.csv")
    assert (np.column_stack([stream.t_s, stream.values]) == rows).all()


def test_a_last_line_that_was_cut_off_is_left_out_and_named(tmp_path: Path) -> None:
    stream = read_stream(file(tmp_path, GOOD + "0.5,0.25,1,uni"))
    assert len(stream.t_s) == 2
    assert "cut off" in stream.notes[0]


def test_a_column_that_nobody_knows_is_a_level_and_named(tmp_path: Path) -> None:
    stream = read_stream(file(tmp_path, "t_s,units,heat\n0,0,40\n1,5,41\n"))
    assert stream.columns == ("units", "heat")
    assert "heat" in stream.notes[0]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (GOOD.replace("t_s", "time"), "line 1"),
        ("t_s,units\n0,1\n", "stream.csv"),
        (GOOD.replace("0.26,", "0.0,"), "line 3, column t_s"),
        (GOOD.replace(",3,9,", ",x,9,"), "line 3, column units"),
        (GOOD.replace(",3,9,", ",,9,"), "line 3, column units"),
        (GOOD.replace(",3,9,", ",9,"), "line 3"),
        ("t_s,units,units\n0,1,1\n1,2,2\n", "line 1"),
    ],
)
def test_errors_say_where(tmp_path: Path, text: str, place: str) -> None:
    with pytest.raises(DataError) as error:
        read_stream(file(tmp_path, text))
    assert place in str(error.value.place)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_stream(tmp_path / "none.csv")
    with pytest.raises(UsageError, match="cannot be written"):
        Recording(tmp_path, ("t_s",))


def test_progress_is_the_best_witness_only_if_it_moved() -> None:
    assert choose_performance({"units": [0, 0, 2], "cpu_ns": [1, 2, 3]}).column == "units"
    assert choose_performance({"units": [0, 0, 0], "cpu_ns": [1, 2, 3]}).column == "cpu_ns"
    assert choose_performance({"units": [0, 0], "cpu_ns": [1, 2], "instructions": [5, 6]}).column == "instructions"
    assert choose_performance({"load1": [1.0]}) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD + "0.5,0.25,1,units,3,9," + "1" * 140_000 + ",a\n", "field larger than field limit"),
        (GOOD.replace(",0.25,", ",x,"), "line 2, column interval_s: got 'x', expected seconds > 0"),
        (GOOD.replace(",0.25,", ",0,"), "line 2, column interval_s: got '0', expected seconds > 0"),
        (GOOD.replace(",1,units", ",-1,units"), "line 2, column horizon_s: got '-1', expected seconds > 0"),
    ],
)
def test_settings_and_cells_that_no_recording_has_are_refused(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read_stream(file(tmp_path, text))
    assert words in str(caught.value)


def test_a_table_that_is_no_stream_is_told_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("t_s;units\n0;0\n1;5\n", encoding="ascii")
    with pytest.raises(DataError, match="here by semicolons"):
        read_stream(path)
    path.write_text("time,units\n0,0\n1,5\n", encoding="ascii")
    with pytest.raises(DataError, match=r"no column 't_s' in time, units(.|\n)*rename a column of seconds"):
        read_stream(path)
