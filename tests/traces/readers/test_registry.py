"""Formats are known by their names or first bytes."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.core.lazy import imported
from mlperf.traces.readers.registry import READERS, format_of, read_trace
from mlperf.traces.writers.registry import WRITERS, export_trace

ALOG = "-3 0 0 2 0 0\n-101 0 0 1 0 5 1 1\n-102 1 0 0 0 9 1 1\n"


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.alog", "", "alog"),
        ("a.goal.gz", "", "goal"),
        ("log.txt", ALOG, "alog"),
        ("noname", "num_ranks 3\n", "goal"),
        ("run.npz", "", "store"),
    ],
)
def test_names_and_heads_tell(tmp_path: Path, name: str, content: str, found: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert format_of(tmp_path / name) == found


def test_the_head_of_a_gzipped_file_tells_too(tmp_path: Path) -> None:
    (tmp_path / "noname").write_bytes(gzip.compress(b"num_ranks 3\n"))
    assert format_of(tmp_path / "noname") == "goal"


def test_more_ranks_than_results_have_room_for_are_refused(tmp_path: Path) -> None:
    (tmp_path / "run.goal").write_text("num_ranks 2000000000\nrank 0 {\nl1: calc 5\n}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"run\.goal: got 2000000000 ranks, expected at most 4194304"):
        read_trace(tmp_path / "run.goal")


def test_an_unknown_file_is_shown(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("hello there", encoding="utf-8")
    with pytest.raises(DataError, match='is of no known format; it begins with "hello there"'):
        read_trace(tmp_path / "x")
    for content, told in (
        (b"", "x: is empty"),
        (b"\n \n", "x: begins with blanks alone"),
        (b"\xff\xd8\x00\x01", "with the bytes ff d8 00 01"),
    ):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(DataError, match=told):
            read_trace(tmp_path / "x")
    with pytest.raises(UsageError, match="no format 'alogg'"):
        read_trace(tmp_path / "x", "alogg")


@pytest.mark.parametrize("name", READERS)
def test_every_reader_is_there(name: str) -> None:
    assert callable(imported(READERS[name].reads))


def test_messages_are_matched(tmp_path: Path) -> None:
    (tmp_path / "x.alog").write_text(ALOG, encoding="utf-8")
    assert read_trace(tmp_path / "x.alog").match.tolist() == [1, 0]
    (tmp_path / "x.alog").write_text(ALOG[: ALOG.index("-102")], encoding="utf-8")
    with pytest.raises(DataError, match="have no partner"):
        read_trace(tmp_path / "x.alog")
    assert read_trace(tmp_path / "x.alog", drop_unmatched=True).match.tolist() == [-1]


@pytest.mark.parametrize("name", ["store", "alog", "goal", "csv", "ti"])
def test_every_format_is_written_and_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "x.alog").write_text(ALOG, encoding="utf-8")
    path = tmp_path / f"y{WRITERS[name][0]}"
    written = export_trace(read_trace(tmp_path / "x.alog"), path)
    assert (written.file_format, written.n_events, written.size_bytes) == (name, 2, path.stat().st_size)
    found = read_trace(path)
    assert [found.match.tolist()[row] for row in range(len(found)) if found.kind[row] in (1, 2)] == [
        row for row in range(len(found))[::-1] if found.kind[row] in (1, 2)
    ]


def test_a_name_that_tells_no_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.alog").write_text(ALOG, encoding="utf-8")
    table = read_trace(tmp_path / "x.alog")
    with pytest.raises(UsageError, match="no format's files are called"):
        export_trace(table, tmp_path / "x.json5")
    with pytest.raises(UsageError, match=r"expected a name that ends in \.npz"):
        export_trace(table, tmp_path / "x.bin", "store")
