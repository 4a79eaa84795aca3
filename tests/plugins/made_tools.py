"""Programs of our own making in the place of recorders that a machine may not have."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

PROGRAM = """#!{python}
import pathlib, sys, time
words = sys.argv[1:]
{code}
"""


def make_tool(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str) -> None:
    """Put a program on a PATH that holds nothing else."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(PROGRAM.format(python=sys.executable, code=code))
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
