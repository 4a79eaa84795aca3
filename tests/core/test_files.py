"""Output files are whole or absent, whatever happens while they are written."""

from __future__ import annotations

import errno
import gzip
import json
import os
from pathlib import Path

import pytest

from mlperf.core.errors import DataError
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


def test_a_file_keeps_its_permissions_and_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"old")
    (tmp_path / "secret").chmod(0o640)
    (tmp_path / "link").symlink_to("secret")
    write_text_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "secret").read_text(encoding="utf-8") == "new"
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o640


def test_what_the_block_raises_comes_out_and_what_the_system_says_is_placed(tmp_path: Path) -> None:
    with pytest.raises(UnicodeError), replacing(tmp_path / "out"):
        raise UnicodeError
    with pytest.raises(DataError, match="disk is full"), replacing(tmp_path / "out"):
        raise OSError(errno.ENOSPC, "no space")
    assert list(tmp_path.iterdir()) == []


def test_a_device_is_written_to_at_the_end_only(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(ZeroDivisionError), replacing(pipe) as stream:
        stream.write(b"half" * (1 // 0))
    with replacing(pipe) as stream:
        stream.write(b"whole")
    assert os.read(reading, 100) == b"whole"
    os.close(reading)


def test_names_that_are_no_text_can_be_written_of(tmp_path: Path) -> None:
    write_text_whole(tmp_path / "out.json", json.dumps({"name": os.fsdecode(b"caf\xe9")}, ensure_ascii=False))
    assert os.fsencode(json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["name"]) == b"caf\xe9"
