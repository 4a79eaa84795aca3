"""Files that are empty, cut off, wrongly encoded, or still being written."""

from __future__ import annotations

import gzip
import hashlib
import io
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from mlperf.core.errors import DataError
from mlperf.datasets import read_any_table, read_campaign, read_table
from mlperf.datasets.campaigns.digest import table_sha256
from mlperf.datasets.reading.source import check_unchanged, read_foreign, read_source

pytestmark = pytest.mark.slow


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"steps.csv: cannot be read \(No such file") as caught:
        read_table(tmp_path / "steps.csv", "steps")
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "line 1: got an empty file"),
        (b"\n", "line 1, column 1: got a blank line, expected column names"),
        (b"a,b\n", "line 2: got a header and no rows"),
    ],
)
def test_empty_file_and_header_only(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "steps.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=words):
        read_table(path, "steps")


def test_wrong_byte_is_named_with_line_column_and_position(tmp_path: Path, small_texts: dict[str, str]) -> None:
    text = small_texts["steps"].replace("tiny,4", "t\u00efny,4", 1)
    path = tmp_path / "steps.csv"
    path.write_bytes(text.encode("latin-1"))
    position = text.index("\u00ef")
    with pytest.raises(DataError) as caught:
        read_table(path, "steps")
    assert caught.value.place == f"{path}, line 3, column cnn, byte {position}"
    assert "0xef" in caught.value.message
    assert "UTF-8" in str(caught.value.hint)


def test_utf_16_is_refused(tmp_path: Path, small_texts: dict[str, str]) -> None:
    path = tmp_path / "steps.csv"
    path.write_bytes(small_texts["steps"].encode("utf-16"))
    with pytest.raises(DataError, match=r"line 1.*got byte 0xff, expected UTF-8"):
        read_table(path, "steps")
    path.write_bytes(small_texts["steps"].encode("utf-16-le"))
    with pytest.raises(DataError, match=r"line 1.*got byte 0x00, expected UTF-8"):
        read_table(path, "steps")


def test_byte_order_mark_windows_lines_and_no_last_newline_change_nothing(tmp_path: Path, small_texts: dict[str, str]) -> None:
    text = small_texts["kernels"]
    variants = {
        "plain": text.encode(),
        "mark": b"\xef\xbb\xbf" + text.encode(),
        "windows": text.replace("\n", "\r\n").encode(),
        "unended": text.rstrip("\n").encode(),
        "quoted": text.replace("tiny", '"tiny"').encode(),
    }
    frames = {}
    for name, content in variants.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "kernels.csv").write_bytes(content)
        frames[name] = read_table(tmp_path / name / "kernels.csv", "kernels")
    for frame in frames.values():
        assert frame.equals(frames["plain"])


def test_cut_off_gzip_and_false_suffixes(tmp_path: Path, small_texts: dict[str, str]) -> None:
    content = gzip.compress(small_texts["steps"].encode())
    path = tmp_path / "steps.csv.gz"
    path.write_bytes(content[:-9])
    with pytest.raises(DataError, match=r"steps.csv.gz: is not a whole gzip file"):
        read_table(path, "steps")
    path.write_text(small_texts["steps"], encoding="utf-8")
    with pytest.raises(DataError, match=r"is not a whole gzip file"):
        read_table(path, "steps")
    plain = tmp_path / "steps.csv"
    plain.write_bytes(content)
    with pytest.raises(DataError, match="got gzip data, expected plain text"):
        read_table(plain, "steps")


@contextmanager
def growing(path: Path, line: str) -> Iterator[None]:
    """Somebody appends ``line`` to ``path`` again and again."""
    done, begun = threading.Event(), threading.Event()

    def write() -> None:
        with path.open("a", encoding="utf-8") as stream:
            while not done.is_set():
                stream.write(line)
                stream.flush()
                begun.set()
                time.sleep(0.002)

    thread = threading.Thread(target=write)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        done.set()
        thread.join()


READERS: dict[str, Callable[[Path], object]] = {
    "table": lambda path: read_table(path, "steps", duplicates="keep"),
    "any table": lambda path: read_any_table(path, "step_s", duplicates="keep"),
    "campaign": lambda path: read_campaign(path.parent, duplicates="keep"),
}


@pytest.mark.parametrize("reader", READERS)
def test_growing_file_is_refused(reader: str, campaign: Path) -> None:
    path = campaign / "steps.csv"
    last = path.read_text(encoding="utf-8").splitlines()[-1]
    READERS[reader](path)
    with growing(path, last + "\n"), pytest.raises(DataError, match=r"steps.csv, line \d+.*changed while it was read") as caught:
        READERS[reader](path)
    assert "wait for the measurement to end" in str(caught.value.hint)


def test_replaced_or_removed_file_is_refused(campaign: Path) -> None:
    path = campaign / "steps.csv"
    source = read_source(path)
    check_unchanged(source)
    path.write_bytes(source.data + b"x")
    with pytest.raises(DataError, match="changed while it was read"):
        check_unchanged(source)
    path.unlink()
    with pytest.raises(DataError, match="changed while it was read"):
        check_unchanged(source)


def test_the_standard_input_is_read_once_and_never_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a,b\n1,2\n")))
    source = read_foreign("-")
    assert (str(source.path), source.text) == ("<stdin>", "a,b\n1,2\n")
    check_unchanged(source)
    with pytest.raises(DataError, match="<stdin>, line 1: got an empty file"):
        read_foreign("-")


def test_the_digest_is_that_of_the_content_as_utf_8(tmp_path: Path) -> None:
    """So that packing, byte order marks and encodings do not change which data a model names."""
    text = "Größe,t_s\n1,2\n"
    digest = hashlib.sha256(text.encode()).hexdigest()
    for name, content in {
        "plain.csv": text.encode(),
        "marked.csv": text.encode("utf-8-sig"),
        "wide.csv": text.encode("utf-16"),
        "western.csv": text.encode("cp1252"),
        "packed.csv.gz": gzip.compress(text.encode()),
    }.items():
        (tmp_path / name).write_bytes(content)
        assert read_foreign(tmp_path / name).sha256 == table_sha256(tmp_path / name) == digest


def test_a_json_document_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text('{"format": "mlperf-model", "a": [1, 2], "b;c": 3}', encoding="utf-8")
    with pytest.raises(DataError, match=r"model\.json: got a JSON document, expected a table\n  hint: mlperf wrote it; a model is"):
        read_foreign(tmp_path / "model.json")
    (tmp_path / "model.json").write_text('{"a": 1}\n{"a": 2}\n', encoding="utf-8")
    for read in (read_foreign, read_source):
        with pytest.raises(DataError, match="got JSON lines, expected a table"):
            read(tmp_path / "model.json")
    (tmp_path / "model.json").write_text('[\n  {"a": [1, 2],\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"got a JSON document that is not whole \(.*line 3 column 1.*\), expected a table"):
        read_foreign(tmp_path / "model.json")
    (tmp_path / "table.csv").write_text("[m],time_s\n1,2\n", encoding="utf-8")
    assert read_foreign(tmp_path / "table.csv").data.startswith(b"[m]")
