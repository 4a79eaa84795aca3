"""What a data set's README says of it: title and licence."""

from __future__ import annotations

import re
from pathlib import Path

LICENCE = re.compile(r"\*\*Licence\*\*(.*?)(?=\*\*|\n\n|\Z)", re.DOTALL)
NAMES = ("Apache-2.0", "BSD-3-Clause", "BSD-2-Clause", "MIT", "CC-BY-4.0", "CC0-1.0", "public domain", "the project's own")
UNKNOWN = "see its README"


def title(folder: Path) -> str:
    """First heading of the folder's README; empty where there is none."""
    for line in readme(folder).splitlines():
        if line.startswith("# "):
            return line.removeprefix("# ").strip()
    return ""


def licence(folder: Path) -> str:
    """The first known licence that stands behind ``**Licence**`` in the folder's README."""
    found = LICENCE.search(readme(folder))
    words = found.group(1) if found else ""
    known = [name for name in NAMES if name in words]
    return min(known, key=words.index) if known else UNKNOWN


def readme(folder: Path) -> str:
    """Text of the folder's README.md; empty where there is none."""
    path = folder / "README.md"
    return path.read_text(encoding="utf-8") if path.is_file() else ""
