"""Foreign text, such as names of files and networks, in a form that no terminal, page or drawing can be harmed by."""

from __future__ import annotations

import os
import re

# Control characters, line separators, marks that turn the direction of writing, and bytes of a file's name that are no text.
_HARMFUL = "\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_WORD = re.compile(f"[{_HARMFUL}]")
_LINES = re.compile(f"(?![\n\t])[{_HARMFUL}]")
_FIRST_BYTE, _LAST_BYTE = 0xDC80, 0xDCFF


def printable(text: str | os.PathLike[str]) -> str:
    """``text`` on one line as every terminal shows it: what cannot be seen becomes an escape."""
    return _WORD.sub(_escape, os.fspath(text))


def printable_lines(text: str) -> str:
    """`printable` for text that has lines and tabs of its own."""
    return _LINES.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    # Python reads a byte that is no text as one of these.
    if _FIRST_BYTE <= code <= _LAST_BYTE:
        return f"\\x{code - 0xDC00:02x}"
    return found[0].encode("unicode_escape").decode("ascii")
