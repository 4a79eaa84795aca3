"""Places are refused before work begins, with the folder that is missing and one that is called alike."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlperf.collect.campaign.run import CollectRequest
from mlperf.collect.canonical.measure import CanonicalRequest
from mlperf.collect.canonical.network import NetworkRequest
from mlperf.collect.contraction.request import ContractionRequest
from mlperf.collect.loggps.request import LogGPSRequest
from mlperf.collect.servers.request import ServersRequest
from mlperf.collect.synchronous.request import DdpRequest
from mlperf.collect.trainer.request import AsgdRequest
from mlperf.core.errors import DataError, UsageError
from mlperf.core.places import (
    check_file_place,
    check_file_places,
    check_folder_place,
    check_not_input,
    is_about_places,
    make_folder,
    place_error,
)
from mlperf.traces.recording.run import RecordRequest
from mlperf.traces.whole_run.request import RunRequest


def test_a_missing_folder_is_named_with_one_called_alike(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    with pytest.raises(UsageError) as caught:
        check_file_place(tmp_path / "resluts" / "deep" / "out.csv")
    assert str(tmp_path / "resluts") in caught.value.message
    assert caught.value.hint == "Make it with mkdir -p, or correct the path. Did you mean 'results'?"
    assert not (tmp_path / "resluts").exists()


def test_what_is_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"123")
    (tmp_path / "link").symlink_to("old")
    found = check_file_place(tmp_path / "link")
    assert found is not None
    assert found.st_size == 3
    assert check_file_place(tmp_path / "new") is None


def test_a_folder_is_made_inside_one_that_is_there_only(tmp_path: Path) -> None:
    assert make_folder(tmp_path / "one").is_dir()
    make_folder(tmp_path / "one")
    with pytest.raises(UsageError, match="no folder"):
        make_folder(tmp_path / "two" / "three")
    assert make_folder(tmp_path / "two" / "three", above=True).is_dir()
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "x"):
        with pytest.raises(UsageError, match="file"):
            check_folder_place(path)


@pytest.mark.parametrize("kind", ["itself", "link", "hard link", "another way"])
def test_an_output_that_is_read_is_refused_by_every_name(kind: str, tmp_path: Path) -> None:
    read, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    read.write_bytes(b"1")
    if kind == "link":
        out.symlink_to(read)
    elif kind == "hard link":
        out.hardlink_to(read)
    else:
        out = read if kind == "itself" else tmp_path / "." / ".." / tmp_path.name / "rows.csv"
    with pytest.raises(UsageError, match="which is read"):
        check_not_input(out, [tmp_path / "absent", read])
    check_not_input(tmp_path / "new.csv", [read])
    check_not_input(Path(os.devnull), [os.devnull])


def test_nothing_stands_beside_a_device(tmp_path: Path) -> None:
    assert check_file_places(Path(os.devnull), tmp_path / "no" / "such") == (Path(os.devnull),)
    assert check_file_places(tmp_path / "a", tmp_path / "b") == (tmp_path / "a", tmp_path / "b")
    with pytest.raises(UsageError, match="too long"):
        check_file_places(tmp_path / "a", tmp_path / ("b" * 256))


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.ENOSPC, DataError), (errno.EROFS, UsageError), (errno.ELOOP, UsageError), (errno.EDQUOT, DataError)]
)
def test_what_the_system_says_is_put_into_words(number: int, kind: type[Exception]) -> None:
    error = OSError(number, "x")
    assert is_about_places(error)
    assert isinstance(place_error("a\nb", error), kind)
    assert str(place_error("a\nb", error)).startswith("a\\nb: cannot be written: ")
    assert "hint: " in str(place_error("a", error))


def test_a_missing_file_may_be_a_fault_of_the_program() -> None:
    assert not is_about_places(FileNotFoundError(errno.ENOENT, "x"))


COMMAND = (sys.executable, "-c", "pass")
REQUESTS: dict[str, Callable[[Any], Any]] = {
    "collect": lambda out: CollectRequest(("sgemm",), out),
    "asgd": lambda out: AsgdRequest(out),
    "ddp": lambda out: DdpRequest(out),
    "servers": lambda out: ServersRequest(out, ()),
    "canonical": lambda out: CanonicalRequest(out),
    "network": lambda out: NetworkRequest(out),
    "contractions": lambda out: ContractionRequest(out, ()),
    "loggps": lambda out: LogGPSRequest(out),
    "record": lambda out: RunRequest(COMMAND, out),
    "trace": lambda out: RecordRequest(COMMAND, out),
}


@pytest.mark.parametrize("make", REQUESTS.values(), ids=REQUESTS)
def test_a_place_may_be_given_as_text(make: Callable[[Any], Any]) -> None:
    assert make("somewhere").out == Path("somewhere")
    assert make("somewhere") == make(Path("somewhere"))
