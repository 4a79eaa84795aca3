"""Foreign text is shown on one line, and what cannot be seen is an escape."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.core.printable import printable, printable_lines


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ä, 測試, \u00a0", "plain, ä, 測試, \u00a0"),
        ("two\nlines\ttab", "two\\nlines\\ttab"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("\u202eright to left", "\\u202eright to left"),
        (os.fsdecode(b"caf\xe9"), "caf\\xe9"),
    ],
)
def test_what_cannot_be_seen_becomes_an_escape(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(Path(text)) == shown


def test_text_with_lines_keeps_them() -> None:
    assert printable_lines("a\n\tb\x1b\r") == "a\n\tb\\x1b\\r"


def test_an_error_is_fit_for_a_terminal() -> None:
    error = DataError("got '\x1b]0;'", place="a\nb.csv, line 3", hint="one\ntwo")
    assert str(error) == "a\\nb.csv, line 3: got '\\x1b]0;'\n  hint: one\ntwo"
