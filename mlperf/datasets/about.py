"""What a data set's README says of it: title and licence."""

from __future__ import annotations

import re
from pathlib import Path

LICENCE = re.compile(r"\*\*Licence\*\*:?\s+(?:the\s+)?([^,;(]+?)(?:\s*[,;(]|\.\s|\.$|$)", re.MULTILINE)
UNKNOWN = "see its README"


def title(folder: Path) -> str:
    """First heading of the folder's README; empty where there is none."""
    for line in readme(folder).splitlines():
        if line.startswith("# "):
            return line.removeprefix("# ").strip()
    return ""


def licence(folder: Path) -> str:
    """What stands behind ``**Licence**`` in the folder's README."""
    found = LICENCE.search(readme(folder))
    return " ".join(found.group(1).split()) if found else UNKNOWN


def readme(folder: Path) -> str:
    """Text of the folder's README.md; empty where there is none."""
    path = folder / "README.md"
    return path.read_text(encoding="utf-8") if path.is_file() else ""
