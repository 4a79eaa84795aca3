"""The ladder as a file: Markdown, CSV or JSON by its ending."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from mlperf.core.errors import UsageError
from mlperf.core.files import write_text_whole
from mlperf.studies.open_data.markdown import ladder_page
from mlperf.studies.open_data.result import Ladder

FORMAT, VERSION = "mlperf-ladder", 1


def ladder_csv(ladder: Ladder) -> str:
    """One row a method, device and rung."""
    return str(ladder.score_frame().to_csv(index=False, lineterminator="\n"))


def ladder_json(ladder: Ladder) -> str:
    """Every field of the result."""
    return (
        json.dumps({"format": FORMAT, "version": VERSION, **ladder.to_dict()}, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    )


FORMATS: Mapping[str, Callable[[Ladder], str]] = {".md": ladder_page, ".csv": ladder_csv, ".json": ladder_json}


def check_ending(path: Path) -> None:
    """Raise UsageError where no format belongs to the ending of ``path``."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"got ending {path.suffix!r}, expected one of {', '.join(FORMATS)}", place=str(path))


def write_ladder(ladder: Ladder, path: Path | str) -> None:
    """Write the whole table, or nothing, in the form that the ending says.

    Raises
    ------
    UsageError
        The ending is none of ``.md``, ``.csv``, ``.json``.
    """
    target = Path(path)
    check_ending(target)
    write_text_whole(target, FORMATS[target.suffix.lower()](ladder))
