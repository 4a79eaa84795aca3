"""Joins of measurements with feature tables: pandas' merge where keys match, a named place where they do not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from mlperf import join_tables
from mlperf.core.errors import DataError, UsageError
from mlperf.datasets.joining.join import read_side

pytestmark = pytest.mark.slow

TIMES = "kernel,round,time_s\na,1,0.5\nb,1,0.25\na,2,0.75\nb,2,0.125\n"
NESTS = "kernel,misses\nb,20\na,10\n"
COUNTS = "kernel,n_insn\na,3\nb,4\n"

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return to_file


def test_every_measurement_gets_the_features_of_its_key(write: Write) -> None:
    joined = join_tables(write("t.csv", TIMES), [write("s.csv", NESTS), write("o.csv", COUNTS)])
    times, nests, counts = (pd.read_csv(write(name, text)) for name, text in (("1", TIMES), ("2", NESTS), ("3", COUNTS)))
    pd.testing.assert_frame_equal(joined.frame, times.merge(nests, on="kernel").merge(counts, on="kernel"), check_dtype=False)
    assert joined.features == ("misses", "n_insn")
    assert [table.table for table in joined.tables] == ["s.csv", "o.csv"]
    assert set(joined.data_sha256) == {"t.csv", "s.csv", "o.csv"}


def test_several_key_columns_and_a_key_for_each_table(write: Write) -> None:
    times = write("t.csv", "kernel,N,time_s\na,50,1\na,100,8\n")
    by_size = write("s.csv", "kernel,N,misses\na,100,7\na,50,3\n")
    joined = join_tables(times, [by_size, write("o.csv", "kernel,n_insn\na,3\n")], [["kernel", "N"], ["kernel"]])
    assert joined.frame["misses"].tolist() == [3, 7]
    assert joined.frame["n_insn"].tolist() == [3, 3]


def test_frames_join_as_files_do(write: Write) -> None:
    times, nests = write("t.csv", TIMES), write("s.csv", NESTS)
    by_file = join_tables(times, nests).frame
    pd.testing.assert_frame_equal(join_tables(pd.read_csv(times), pd.read_csv(nests)).frame, by_file, check_dtype=False)
    with pytest.raises(DataError, match="feature table 1, row 2, column kernel"):
        join_tables(pd.read_csv(times).query("kernel == 'b'"), pd.read_csv(nests))


def test_a_table_that_describes_more_than_is_asked_may_be_joined_where_that_is_said(write: Write) -> None:
    asked, nests = write("t.csv", "kernel,round\nb,1\n"), write("s.csv", NESTS)
    assert join_tables(asked, nests, spare=True).frame["misses"].tolist() == [20]
    with pytest.raises(DataError, match=r"got kernel 'c', expected a key that s\.csv has too"):
        join_tables(write("u.csv", "kernel,round\nc,1\n"), nests, spare=True)


@pytest.mark.parametrize(
    ("times", "nests", "place", "words"),
    [
        (TIMES + "c,1,0.5\nc,2,0.5\n", NESTS, "t.csv, line 6, column kernel", "got kernel 'c', expected a key that s.csv has too"),
        (
            TIMES,
            NESTS + "bb,5\ncc,6\n",
            "s.csv, line 4, column kernel",
            "got kernel 'bb' (and 1 more keys), expected a key that t.csv",
        ),
        (TIMES, NESTS + "a,11\n", "s.csv, line 4, column kernel", "a second time (first at"),
        (TIMES, NESTS.replace("misses", "round"), "s.csv, line 1, column round", "got 'round', which t.csv has too"),
        (TIMES, NESTS.replace("kernel", "kernal"), "s.csv, line 1, column kernel", "expected the key column 'kernel'"),
        (TIMES.replace("kernel", "name"), NESTS, "t.csv, line 1, column kernel", "expected the key column 'kernel'"),
        (TIMES, "kernel,misses\n1,20\n2,10\n", "s.csv, line 2, column kernel", "got numbers, for example 1, expected labels"),
    ],
)
def test_what_does_not_match_is_named(write: Write, times: str, nests: str, place: str, words: str) -> None:
    with pytest.raises(DataError) as caught:
        join_tables(write("t.csv", times), write("s.csv", nests))
    assert str(caught.value.place).endswith(place)
    assert words in caught.value.message
    assert caught.value.hint


def test_the_nearest_key_is_offered(write: Write) -> None:
    with pytest.raises(DataError) as caught:
        join_tables(write("t.csv", TIMES.replace("a,", "matvec,")), write("s.csv", NESTS.replace("a,", "matvex,")))
    assert "Did you mean 'matvex'? Measure it" in str(caught.value.hint)
    with pytest.raises(DataError) as caught:
        join_tables(write("t.csv", TIMES.replace("a,", "DGEMM,")), write("s.csv", NESTS.replace("a,", "dgemm,")))
    assert "Did you mean 'dgemm'? Upper and lower case tell names apart. Measure it" in str(caught.value.hint)


def test_a_line_is_right_where_cells_are_quoted(write: Write) -> None:
    nests = 'kernel,misses\n"b\nb",20\na,10\nb,5\nzz,6\n'
    with pytest.raises(DataError) as caught:
        join_tables(write("t.csv", TIMES), write("s.csv", nests))
    assert str(caught.value.place).endswith("s.csv, line 3, column kernel")


def test_keys_and_tables_are_as_many(write: Write) -> None:
    times, nests = write("t.csv", TIMES), write("s.csv", NESTS)
    with pytest.raises(UsageError, match="got no feature table"):
        join_tables(times, [])
    with pytest.raises(UsageError, match="got 2 keys for 1"):
        join_tables(times, nests, [["kernel"], ["round"]])


def test_hints_are_of_what_a_join_takes(tmp_path: Path) -> None:
    """Neither --na nor --categorical goes with joined tables."""
    path = tmp_path / "t.csv"
    for text in ("kernel,a\nx,\ny,1\n", "kernel,a\nx,1\ny,two\n"):
        path.write_text(text, encoding="ascii")
        with pytest.raises(DataError) as caught:
            read_side(path, "table", "keep")
        assert not any(word in str(caught.value) for word in ("--na", "na=", "categorical"))
        assert "remove" in str(caught.value)
