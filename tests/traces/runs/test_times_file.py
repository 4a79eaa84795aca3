"""Files of times, in every form that is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.runs.times_file import read_times


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("1.5\n2\n\n# note\n3e0\n", None),
        ("run,wall_s\na,1.5\nb,2\nc,3\n", "wall_s"),
        ("wall_s\n1.5\n2\n3\n", None),
        ("[1.5, 2, 3]", None),
        ('{"times": [1.5, 2, 3], "name": "x"}', None),
        ('{"results": [{"command": "x", "times": [1.5, 2, 3]}]}', None),
        ('{"step_s": 1.5, "n": 4}\n{"step_s": 2, "n": 4}\n{"step_s": 3, "n": 4}\n', "step_s"),
    ],
)
def test_forms(tmp_path: Path, text: str, column: str | None) -> None:
    (tmp_path / "times").write_text(text)
    assert read_times(tmp_path / "times", column).tolist() == [1.5, 2.0, 3.0]


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", None, "no numbers"),
        ("1\n-2\n", None, "value 2"),
        ("1\nx\n", None, "value 2"),
        ("a,b\n1,2\n", None, "2 columns"),
        ("a,b\n1,2\n", "c", "no column 'c'"),
        ("a,b\n1\n", "b", "line 2"),
        ("{", None, "line 1"),
        ('{"a": "b"}', None, "0 columns"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, column: str | None, message: str) -> None:
    (tmp_path / "times").write_text(text)
    with pytest.raises(DataError, match=message):
        read_times(tmp_path / "times", column)
    with pytest.raises(DataError, match="cannot be read"):
        read_times(tmp_path / "none")
