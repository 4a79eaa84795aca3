"""Output files are whole or absent, whatever happens while they are written."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from mlperf.core.files import replacing, write_text_whole, writing_whole


def test_a_writer_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    write_text_whole(path, "old")
    with pytest.raises(AttributeError, match="decode"), writing_whole(path) as stream:
        stream.writelines(piece.decode() for piece in (b"new", "half"))  # type: ignore[attr-defined]
    assert path.read_text(encoding="utf-8") == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["out.csv"]


def test_text_written_in_pieces_is_one_file_and_gzipped_where_named_so(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    for name in ("out.csv", "out.csv.gz", "again.csv.gz"):
        with writing_whole(tmp_path / "new" / name) as stream:
            for piece in ("a,b\n", "ä,2\n"):
                stream.write(piece)
    assert (tmp_path / "new/out.csv").read_bytes() == "a,b\nä,2\n".encode()
    packed = (tmp_path / "new/out.csv.gz").read_bytes()
    assert gzip.decompress(packed) == "a,b\nä,2\n".encode()
    assert packed == (tmp_path / "new/again.csv.gz").read_bytes()


def test_a_new_file_has_the_permissions_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"1")
    with replacing(tmp_path / "whole") as stream:
        stream.write(b"1")
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "plain").stat().st_mode
