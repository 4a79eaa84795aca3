"""JSON is read strictly: what is doubtful is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.documents import file_text
from mlperf.core.errors import DataError
from mlperf.models.storage.document import document_from_json, document_to_json, placed


def test_documents_are_parsed_strictly() -> None:
    assert document_from_json('{"a": [1, 2.5, "NaN"]}') == {"a": [1, 2.5, "NaN"]}


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '{"a": NaN}', "{", "[" * 100 + "]" * 100, ""])
def test_what_is_doubtful_is_refused(text: str) -> None:
    with pytest.raises(DataError):
        document_from_json(text)


def test_the_text_is_canonical() -> None:
    assert document_to_json({"b": 0.1, "a": ["é"]}) == '{"a":["é"],"b":0.1}\n'
    with pytest.raises(ValueError, match="not JSON compliant"):
        document_to_json({"a": float("nan")})


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        file_text(tmp_path / "none.json")
    (tmp_path / "odd.json").write_bytes(b"\xff")
    with pytest.raises(DataError, match="not UTF-8"):
        file_text(tmp_path / "odd.json")


def test_errors_get_the_name_of_the_file() -> None:
    with pytest.raises(DataError) as caught:
        placed("m.json", lambda: document_from_json('{"a": NaN}'))
    assert caught.value.place == "m.json: $"
