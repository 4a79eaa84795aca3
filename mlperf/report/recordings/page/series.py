"""The series of a recording in columns, ready for a page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.printable import printable
from mlperf.report.recordings.page.packing import packed
from mlperf.report.recordings.page.parts import PageParts
from mlperf.traces.events.counters import CounterTable
from mlperf.traces.timeline.levels import value_levels

MOST_VALUES = 60_000
MOST_COLUMNS, LEAST_COLUMNS = 2048, 128
MOST_SERIES = 300


def series_document(parts: PageParts, tick_ns: int) -> dict[str, Any]:
    """Series with the least and largest value of each column.

    Parameters
    ----------
    parts : PageParts
    tick_ns : int
        Unit of the page's times.

    Returns
    -------
    dict
        ``series``: each with ``name, what, unit, rank``, packed ``time`` (ticks), ``low``, ``high``; ``notes``.
    """
    counters = parts.recording.counters
    begin, _ = parts.span_ns
    told = [number for number in np.unique(counters.series).tolist() if np.any(counters.of(number)[1])]
    notes = [] if len(told) <= MOST_SERIES else [f"{len(told) - MOST_SERIES} series are not drawn; the tables have all"]
    told = told[:MOST_SERIES]
    columns = int(np.clip(MOST_VALUES // max(len(told), 1), LEAST_COLUMNS, MOST_COLUMNS))
    found = []
    for number in told:
        about = counters.about[number]
        time, value = counters.of(number)
        known = np.isfinite(value)
        time, low, high = value_levels(time[known], value[known], parts.span_ns, columns)
        values = {"time": packed((time - begin) // tick_ns, "u4"), "low": packed(low, "f4"), "high": packed(high, "f4")}
        head = {"name": printable(about.name), "what": printable(about.what), "unit": about.unit, "rank": about.rank}
        found.append({**head, "n": len(time), **values})
    return {"series": found, "notes": notes}


def series_summary(counters: CounterTable) -> pd.DataFrame:
    """One row a series: ``series, of, unit, n_readings, mean, least, largest``."""
    rows = []
    for number, about in enumerate(counters.about):
        _, value = counters.of(number)
        value = value[np.isfinite(value)]
        if len(value):
            rows.append((about.name, about.what, about.unit, len(value), value.mean(), value.min(), value.max()))
    return pd.DataFrame(rows, columns=["series", "of", "unit", "n_readings", "mean", "least", "largest"])
