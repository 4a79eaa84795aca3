"""Rows of a campaign in one file, written as they grow, read back whole, and judged by limits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.core.files import write_text_whole
from mlperf.core.shown import plain

DOCUMENT = "runs.json"


def keep_rows(rows: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Write the rows so far: an interrupted campaign says so by its length."""
    write_text_whole(folder / DOCUMENT, json.dumps(plain({"rows": rows}), indent=1) + "\n")


def kept_rows(
    folder: Path, script: str, names: Iterable[str], repeats: int, key: str = "run", later: Sequence[str] = ()
) -> pd.DataFrame:
    """The rows that are kept, all repeats of every name; those of ``later`` may not have been run at all.

    Raises
    ------
    DataError
        A repeat is missing, or there are no rows: ``script`` makes some.
    """
    path = folder / DOCUMENT
    if not path.is_file():
        raise DataError("holds no runs", place=str(folder), hint=f"python docs/{script} --run")
    rows = pd.DataFrame(json.loads(path.read_text(encoding="utf-8"))["rows"])
    counts = rows.groupby(key)["repeat"].nunique()
    for name in names:
        if int(counts.get(name, 0)) != repeats and not (name in later and name not in counts):
            raise DataError(f"{name}: got {int(counts.get(name, 0))} repeats, expected {repeats}", place=str(path))
    return rows


def gates_frame(found: Sequence[tuple[str, float, float]], tolerance: float = 0.0) -> pd.DataFrame:
    """``gate, value, limit, met`` of values that may be as large as their limits."""
    frame = pd.DataFrame(found, columns=["gate", "value", "limit"])
    return frame.assign(met=frame["value"] <= frame["limit"] + tolerance)
