"""Accuracy on open measurements as a file: Markdown, CSV or JSON by its ending."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from mlperf.core.errors import UsageError
from mlperf.core.files import write_text_whole
from mlperf.studies.open_data.markdown import accuracy_page
from mlperf.studies.open_data.result import OpenAccuracy

FORMAT, VERSION = "mlperf-accuracy", 1


def csv_text(found: OpenAccuracy) -> str:
    """One row a method, device and task."""
    return str(found.score_frame().to_csv(index=False, lineterminator="\n"))


def json_text(found: OpenAccuracy) -> str:
    """Every field of the result."""
    return (
        json.dumps({"format": FORMAT, "version": VERSION, **found.to_dict()}, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    )


FORMATS: Mapping[str, Callable[[OpenAccuracy], str]] = {".md": accuracy_page, ".csv": csv_text, ".json": json_text}


def check_ending(path: Path) -> None:
    """Raise UsageError where no format belongs to the ending of ``path``."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"got ending {path.suffix!r}, expected one of {', '.join(FORMATS)}", place=str(path))


def write_accuracy(found: OpenAccuracy, path: Path | str) -> None:
    """Write the whole table, or nothing, in the form that the ending says.

    Raises
    ------
    UsageError
        The ending is none of ``.md``, ``.csv``, ``.json``.
    """
    target = Path(path)
    check_ending(target)
    write_text_whole(target, FORMATS[target.suffix.lower()](found))
