"""A stream while it is recorded: every line is written at once and whole, so that the file can be read at any moment."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from mlperf.core.errors import UsageError


class Recording:
    """An open CSV that grows by whole lines.

    Parameters
    ----------
    path : path
        File to write; one that is there is replaced.
    columns : sequence of str
        Header.

    Raises
    ------
    UsageError
        The file cannot be written.
    """

    def __init__(self, path: Path | str, columns: Sequence[str]) -> None:
        self.path = Path(path)
        self.n_lines = 0
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise UsageError(f"cannot be written ({error.strerror})", place=str(self.path)) from error
        self._write(columns)

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._file)

    def add(self, values: Sequence[float | str]) -> None:
        """Write one sample; numbers get the shortest text that reads back as the same number."""
        self._write([value if isinstance(value, str) else number_text(value) for value in values])
        self.n_lines += 1

    def _write(self, cells: Sequence[str]) -> None:
        # One call for the whole line: a kill or a reader meets whole lines only.
        os.write(self._file, (",".join(cells) + "\n").encode())


def number_text(value: float) -> str:
    """Shortest exact text; whole numbers without a point."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))
