"""Any CSV with a target column: kinds are inferred strictly, missing cells follow a policy, faults name their place."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.datasets import read_any_table
from mlperf.datasets.campaigns.digest import table_sha256

pytestmark = pytest.mark.slow

TABLE = "device,m,time_ms,speed\nA,1,0.5,1.5\nB,2,0.25,2\nA,4,1e-1,3\n"


def write(tmp_path: Path, text: str, name: str = "times.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_kinds_and_values(tmp_path: Path) -> None:
    frame = read_any_table(write(tmp_path, TABLE), "time_ms")
    assert frame["m"].tolist() == [1, 2, 4]
    assert frame["m"].dtype == np.int64
    assert frame["time_ms"].tolist() == [0.5, 0.25, 0.1]
    assert frame["device"].tolist() == ["A", "B", "A"]
    assert frame["speed"].dtype == np.float64
    digest = sha256(TABLE.encode()).hexdigest()
    assert frame.attrs == {"n_rows_read": 3, "n_rows_missing": 0, "sha256": digest, "aside": {}, "notes": (), "first_line": 2}


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("0.25", "fast", "line 3, column time_ms", "got 'fast', expected a number"),
        ("0.25", "", "line 3, column time_ms", "got an empty cell, expected a value"),
        ("0.25", "nan", "line 3, column time_ms", "got 'nan', expected a value"),
        ("0.25", "inf", "line 3, column time_ms", "got 'inf', expected a number"),
        ("0.25", "-0.25", "line 3, column time_ms", "got '-0.25', expected a number > 0"),
        ("0.25", "0", "line 3, column time_ms", "got '0', expected a number > 0"),
        ("0.25", '"0,25"', "line 3, column time_ms", "got '0,25', expected a number"),
        ("B", "", "line 3, column device", "got an empty cell, expected a value"),
        ("B", "7", "line 3, column device", "got '7', expected a label"),
        (",4,", ",four,", "line 4, column m", "got 'four', expected a number"),
        ("B,2,", "B,2,2,", "line 3, column number 5", "got 5 cells, expected 4"),
        ("time_ms", "m", "line 1, column m", "got 'm' twice"),
        ("time_ms", "time_s", "line 1, column time_ms", "is missing"),
    ],
)
def test_fault_is_named(old: str, new: str, place: str, words: str, tmp_path: Path) -> None:
    path = write(tmp_path, TABLE.replace(old, new, 1))
    with pytest.raises(DataError) as caught:
        read_any_table(path, "time_ms")
    assert caught.value.place == f"{path}, {place}"
    assert words in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("suffix", ["_s", "_ms", "_us", "_ns"])
def test_negative_time_beside_the_target_is_an_error(suffix: str, tmp_path: Path) -> None:
    path = write(tmp_path, f"y,load{suffix}\n1,2\n2,-3\n")
    with pytest.raises(DataError, match=f"line 3, column load{suffix}: got '-3', expected a time >= 0"):
        read_any_table(path, "y")
    assert read_any_table(write(tmp_path, "y,shift\n1,2\n2,-3\n"), "y")["shift"].tolist() == [2, -3]


def test_target_of_labels_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 2, column device: got 'A', expected a number: the target"):
        read_any_table(write(tmp_path, TABLE), "device")


def test_a_target_of_clock_times_says_how_to_write_seconds(tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    path.write_text("m,took\n1,00:12:34\n2,00:14:00\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2, column took: got '00:12:34', expected a number") as caught:
        read_any_table(path, "took")
    assert caught.value.hint == "Write durations in seconds, in the whole column: 754 for '00:12:34'."


def test_zero_and_negative_targets_on_request(tmp_path: Path) -> None:
    path = write(tmp_path, "y,x\n0,1\n-2,2\n")
    assert read_any_table(path, "y", positive=False)["y"].tolist() == [0, -2]


def test_labels_that_look_like_numbers(tmp_path: Path) -> None:
    path = write(tmp_path, "y,version\n1,4.0\n2,none\n3,5\n")
    with pytest.raises(DataError, match="column version: got 'none'") as caught:
        read_any_table(path, "y")
    assert "categorical=('version',)" in str(caught.value.hint)
    assert read_any_table(path, "y", categorical=["version"])["version"].tolist() == ["4.0", "none", "5"]


def test_missing_cells_are_dropped_on_request_only(tmp_path: Path) -> None:
    path = write(tmp_path, "y,x,note\n1,2,a\n2,,b\n3,NA,\n4,5,c\n")
    with pytest.raises(DataError, match="line 3, column x"):
        read_any_table(path, "y")
    frame = read_any_table(path, "y", na="drop")
    assert frame["x"].tolist() == [2.0, 5.0]
    assert (frame.attrs["n_rows_read"], frame.attrs["n_rows_missing"]) == (4, 2)
    assert frame.attrs["notes"] == (
        f"{path}: left out 2 of 4 rows with a missing cell (lines 3, 4 in column x; line 4 in column note)",
    )
    assert read_any_table(path, "y", columns=["y"], na="error")["y"].tolist() == [1, 2, 3, 4]
    with pytest.raises(DataError, match="each with a missing cell"):
        read_any_table(write(tmp_path, "y,x\n1,\n2,\n"), "y", na="drop")


def test_only_the_columns_asked_for_are_checked(tmp_path: Path) -> None:
    path = write(tmp_path, TABLE.replace("0.5,1.5", "0.5,oops"))
    assert list(read_any_table(path, "time_ms", columns=["m"]).columns) == ["m", "time_ms"]
    with pytest.raises(DataError, match="column speed"):
        read_any_table(path, "time_ms")


def test_copies(tmp_path: Path) -> None:
    path = write(tmp_path, TABLE + "A,1,0.5,1.5\n")
    with pytest.raises(DataError, match="line 5, column device: got 'A', expected a row that differs from line 2"):
        read_any_table(path, "time_ms")
    assert len(read_any_table(path, "time_ms", duplicates="keep")) == 4
    assert len(read_any_table(path, "time_ms", duplicates="drop")) == 3


def test_rows_that_differ_outside_the_columns_read_are_no_copies(tmp_path: Path) -> None:
    path = write(tmp_path, "y,x,run\n1,2,1\n1,2,2\n")
    assert len(read_any_table(path, "y", columns=["x"])) == 2


def test_unknown_policies(tmp_path: Path) -> None:
    path = write(tmp_path, TABLE)
    with pytest.raises(UsageError, match="na='ignore'"):
        read_any_table(path, "time_ms", na="ignore")
    with pytest.raises(UsageError, match="duplicates='ignore'"):
        read_any_table(path, "time_ms", duplicates="ignore")


def test_no_target_and_quoted_cells(tmp_path: Path) -> None:
    frame = read_any_table(write(tmp_path, 'name,x\n"a, b",1\n"c ""d""",2\n'))
    assert frame["name"].tolist() == ["a, b", 'c "d"']
    assert frame["x"].tolist() == [1, 2]


def test_table_of_the_dictionary_is_read_by_it(campaign: Path) -> None:
    """kernels.csv has cells that are empty by right; its times are checked by the dictionary's bounds."""
    frame = read_any_table(campaign / "kernels.csv", "cpu_s")
    assert set(frame["trans"]) == {"", "NN", "TN", "NT"}
    assert list(read_any_table(campaign / "kernels.csv", "cpu_s", columns=["m", "n", "k"]).columns) == ["m", "n", "k", "cpu_s"]
    with pytest.raises(DataError, match="column time_s: is missing"):
        read_any_table(campaign / "kernels.csv", "time_s")


def test_gzip_gives_the_same_table_and_digest(tmp_path: Path) -> None:
    import gzip

    path = write(tmp_path, TABLE)
    zipped = tmp_path / "times.csv.gz"
    zipped.write_bytes(gzip.compress(TABLE.encode()))
    assert read_any_table(zipped, "time_ms").equals(read_any_table(path, "time_ms"))
    assert table_sha256(zipped) == table_sha256(path)


def test_columns_left_out_are_named_with_the_reason(tmp_path: Path) -> None:
    path = write(tmp_path, ",m,day,note,time_ms\n0,1,2024-01-31,x,1\n1,2,2024-02-01,,2\n")
    frame = read_any_table(path, "time_ms", others="aside")
    assert list(frame) == ["m", "time_ms"]
    assert list(frame.attrs["aside"]) == ["Unnamed: 0", "day", "note"]
    for note, (name, reason) in zip(frame.attrs["notes"], frame.attrs["aside"].items(), strict=True):
        assert note == f"{path}, column {name}: left out, it {reason}"


def test_columns_that_are_named_are_never_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, ",m,day,note,time_ms\n0,1,2024-01-31,x,1\n1,2,2024-02-01,,2\n")
    frame = read_any_table(path, "time_ms", columns=["day", "Unnamed: 0"], others="aside")
    assert list(frame) == ["Unnamed: 0", "m", "day", "time_ms"]
    with pytest.raises(DataError, match="line 3, column note: got an empty cell"):
        read_any_table(path, "time_ms", columns=["note"], others="aside")
    with pytest.raises(UsageError, match="others='ignore'"):
        read_any_table(path, "time_ms", others="ignore")


def test_columns_with_gaps_may_stay_in_the_frame_with_their_places(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("m,kind,none,time_s\n1,a,,1.5\n2,,,2.5\n,b,,3.5\n", encoding="utf-8")
    frame = read_any_table(path, "time_s", others="offer")
    assert frame.attrs["gaps"] == {"m": "line 4", "kind": "line 3"}
    assert list(frame.attrs["aside"]) == ["m", "kind", "none"]
    assert frame["m"].tolist()[:2] == [1.0, 2.0]
    assert frame["m"].isna().tolist() == [False, False, True]
    assert frame["kind"].tolist() == ["a", None, "b"]


def test_a_bare_number_among_numbers_with_suffixes_blames_the_suffix(tmp_path: Path) -> None:
    path = write(tmp_path, "size,time_ms\n500,1\n1.5k,2\n2k,3\n")
    with pytest.raises(DataError, match=r"line 3, column size: got '1.5k', expected a number") as caught:
        read_any_table(path, "time_ms")
    assert "Write the bare number: 1.5e3" in str(caught.value.hint)


def test_labels_with_suffixes_are_read_as_labels_with_the_remedy(tmp_path: Path) -> None:
    path = write(tmp_path, "size,time_ms\n500M,1\n1.5G,2\n")
    note = read_any_table(path, "time_ms").attrs["notes"][0]
    assert note.endswith("('500M'), read as labels: remove the units to use the numbers (write 500e6 for '500M')")


def test_commits_of_which_some_look_like_numbers_are_labels(tmp_path: Path) -> None:
    path = write(tmp_path, "sha,time_ms\nd9c2825,1\n4700374,2\n12e4567,3\na30febc,4\n")
    assert read_any_table(path, "time_ms")["sha"].tolist() == ["d9c2825", "4700374", "12e4567", "a30febc"]
    for wrong in ("sha,time_ms\nd9c2825,1\n47003,2\na30febc,4\n", "sha,time_ms\nzebra12,1\n4700374,2\na30febc,4\n"):
        with pytest.raises(DataError, match="expected a label"):
            read_any_table(write(tmp_path, wrong), "time_ms")


@pytest.mark.parametrize("labels", [(), ("device",)])
def test_columns_that_are_passed_on_have_decimal_commas_whoever_names_labels(labels: tuple[str, ...], tmp_path: Path) -> None:
    path = write(tmp_path, "device;step_ms;n_gpus\nA;12,5;1\nB;7,25;2\n")
    frame = read_any_table(path, others="keep", columns=list(labels), categorical=list(labels))
    assert frame["step_ms"].tolist() == [12.5, 7.25]
    assert frame["device"].tolist() == ["A", "B"]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1,2\n3,4\n5,6\n", "The first line holds numbers: write a line with the names of the columns above it."),
        ("Matrix products\n\na,t_s\n1,2\n", "The first line names the columns: remove what stands above them."),
        ("a,t_s\n\n1,2\n", "Remove the line."),
    ],
)
def test_what_stands_in_the_first_lines_is_told(text: str, hint: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_any_table(tmp_path / "t.csv", target=None if text.startswith("Matrix") else "t_s")
    assert caught.value.hint == hint
