"""Final summaries of TraceML: mean times of a step's parts by rank, and its verdict."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.core.shown import Shown
from mlperf.traces.readers.content import read_content

PARTS: Mapping[str, str] = {
    "step_time_ms": "step_s",
    "input_wait_ms": "load_s",
    "h2d_ms": "h2d_s",
    "forward_ms": "forward_s",
    "backward_ms": "backward_s",
    "optimizer_ms": "update_s",
    "residual_ms": "other_s",
}
"""TraceML's metrics and our columns; its residual is what no phase explains."""
FIRST_VERSION = 1.7
"""Earlier schemas call the times of a step otherwise."""
HINT = "traceml run writes final_summary.json."
LONGEST_MS = 1e9


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TraceMLSummary(Shown, frame="ranks"):
    """One run as TraceML sums it up.

    Attributes
    ----------
    source : str
    verdict, why : str
        Its primary diagnosis and the sentence beside it.
    n_steps : int
        Steps that means are of.
    ranks : DataFrame
        One row a rank: ``rank`` and the columns of `PARTS`, seconds; NaN where it measured nothing.
    notes : tuple of str
    """

    source: str
    verdict: str
    why: str
    n_steps: int
    ranks: pd.DataFrame
    notes: tuple[str, ...] = ()


def is_traceml(path: Path) -> bool:
    """Whether a file is such a summary, by its first keys."""
    if path.suffix != ".json" or not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(4096)
    return b'"schema_version"' in head and b'"analysis_window"' in head


def read_traceml(path: Path) -> TraceMLSummary:
    """Read a final summary of schema 1.7 or later.

    Raises
    ------
    DataError
        It is none, of an earlier schema, holds no steps, or a value is no time; names file and key.
    """
    content = read_content(path)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DataError(f"is not JSON ({error})", place=str(path), hint=HINT) from None
    version = found.get("schema_version") if isinstance(found, dict) else None
    if not isinstance(version, (int, float)) or isinstance(version, bool):
        raise DataError("has no schema_version: it is no summary of TraceML", place=str(path), hint=HINT)
    if not FIRST_VERSION <= version < 2:
        raise DataError(f"got schema {version}, expected 1.7 to 1.9", place=f"{path}, key schema_version")
    section = _mapping(found, "step_time", str(path))
    rows = _mapping(_mapping(section, "groups", f"{path}, step_time"), "rows", f"{path}, step_time.groups")
    if not rows:
        raise DataError("holds no steps", place=f"{path}, step_time", hint="trace_step(model) in the program measures steps.")
    ranks = [_rank(key, row, f"{path}, step_time.groups.rows.{key}") for key, row in rows.items()]
    window = _mapping(_mapping(section, "global", f"{path}, step_time"), "window", f"{path}, step_time.global")
    steps = window.get("steps_analyzed")
    diagnosis = found.get("primary_diagnosis")
    told = diagnosis if isinstance(diagnosis, dict) else {}
    missing = sorted({name for row in ranks for name, value in row.items() if isinstance(value, float) and math.isnan(value)})
    notes = (f"not measured: {', '.join(missing)}",) if missing else ()
    n_steps = steps if isinstance(steps, int) and 0 <= steps < 2**31 else 0
    frame = pd.DataFrame(ranks).sort_values("rank", kind="stable").reset_index(drop=True)
    return TraceMLSummary(path.name, str(told.get("status", "")), str(told.get("summary", "")), n_steps, frame, notes)


def _mapping(found: Mapping[str, Any], key: str, place: str) -> Mapping[str, Any]:
    """A value that is a mapping."""
    value = found.get(key)
    if not isinstance(value, Mapping):
        raise DataError(f"got {value!r:.40}, expected a table of keys", place=f"{place}, key {key}", hint=HINT)
    return value


def _rank(key: str, row: Any, place: str) -> dict[str, Any]:
    """Times of one rank."""
    if not isinstance(row, Mapping) or not key.isdigit() or len(key) > 9:
        raise DataError(f"got {row!r:.40}, expected a rank's row", place=place)
    metrics = _mapping(row, "metrics", place)
    return {"rank": int(key), **{column: _seconds(metrics.get(name), f"{place}.metrics.{name}") for name, column in PARTS.items()}}


def _seconds(value: Any, place: str) -> float:
    """A mean time; NaN for null, which means that nothing measured it."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < LONGEST_MS:
        raise DataError(f"got {value!r:.40}, expected milliseconds >= 0", place=place)
    return float(value) / 1e3
