"""What our own writer made, with something missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from profiles import training_job

from mlperf.core.errors import DataError
from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.writers.chrome import write_chrome


def written(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    folder, _ = training_job(tmp_path / "job", [[10.0, 30.0]])
    path = tmp_path / "a.json"
    write_chrome(read_chrome(folder), path)
    return path, json.loads(path.read_text())


def event(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in document["traceEvents"] if each["ph"] == "X")
    return found


@pytest.mark.parametrize("key", ["kind", "row"])
def test_an_event_without_its_columns_is_missed(key: str, tmp_path: Path) -> None:
    path, document = written(tmp_path)
    del event(document)["args"][key]
    path.write_text(json.dumps(document))
    with pytest.raises(DataError):
        read_chrome(path)


@pytest.mark.parametrize(("key", "value"), [("peer", 2**40), ("kind", "WALTZ"), ("row", 3), ("match", 10**6)])
def test_columns_that_cannot_be_are_refused(key: str, value: object, tmp_path: Path) -> None:
    path, document = written(tmp_path)
    event(document)["args"][key] = value
    path.write_text(json.dumps(document))
    with pytest.raises(DataError):
        read_chrome(path)


def test_a_cut_file_of_ours_is_read_as_anybodys(tmp_path: Path) -> None:
    path, document = written(tmp_path)
    text = json.dumps(document)
    path.write_text(text[: len(text) // 2])
    table = read_chrome(path)
    assert any("is cut off" in note for note in table.notes)
