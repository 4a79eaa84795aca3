"""Matrix products that ran on a device, with the sizes that their operators' arguments tell."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from mlperf.core.arrays import IntArray
from mlperf.traces.events.kinds import UNSET, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.readers.chrome.pairs import innermost

PRODUCTS: Mapping[str, Callable[[list[list[int]]], tuple[int, ...]]] = {
    "aten::mm": lambda shapes: (*shapes[0], shapes[1][1], 1),
    "aten::addmm": lambda shapes: (*shapes[1], shapes[2][1], 1),
    "aten::bmm": lambda shapes: (*shapes[0][1:], shapes[1][2], shapes[0][0]),
    "aten::baddbmm": lambda shapes: (*shapes[1][1:], shapes[2][2], shapes[1][0]),
}
"""m, k, n and number of products from the shapes of an operator's arguments."""
COLUMNS = ("operator", "m", "n", "k", "batch", "n_calls", "n_flops", "mean_s", "min_s", "max_s")
NS = 1e-9


def products(table: EventTable) -> pd.DataFrame:
    """One row for each operator and size, the most time first.

    Returns
    -------
    DataFrame
        ``operator, m, n, k, batch`` (C(m, n) = A(m, k) B(k, n), so many times), ``n_calls``, ``n_flops`` of one call (two for a
        multiplication and addition), ``mean_s``, ``min_s`` and ``max_s`` of a call: all kernels and memory sets that it launched.
    """
    call, time_ns = _calls(table)
    groups = pd.DataFrame({"name": table.name[call], "site": table.site[call], "time_s": time_ns * NS}).groupby(["name", "site"])
    found = groups["time_s"].agg(["size", "mean", "min", "max", "sum"]).sort_values("sum", ascending=False, kind="stable")
    rows = []
    for (name, site), each in zip(found.index.tolist(), found.itertuples(index=False), strict=True):
        size = _size(table.strings[name], table.strings[site] if site >= 0 else "")
        if size is not None:
            m, k, n, batch = size
            rows.append((table.strings[name], m, n, k, batch, each[0], 2 * m * n * k * batch, *each[1:4]))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _calls(table: EventTable) -> tuple[IntArray, IntArray]:
    """Rows of operators' calls that launched something, and how long all of that took together, nanoseconds."""
    is_product = np.array([text in PRODUCTS for text in table.strings] + [False], dtype=bool)
    calls = np.flatnonzero((table.kind == Kind.REGION) & is_product[table.name] & (table.device == UNSET))
    made = np.flatnonzero(np.isin(table.kind, (int(Kind.KERNEL), int(Kind.MEMSET))) & (table.match != UNSET))
    launches = table.match[made]
    places = np.stack((table.rank, table.pid, table.tid), axis=1)
    threads = np.unique(places, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    around = innermost(threads[calls], table.start_ns[calls], table.end_ns[calls], threads[launches], table.start_ns[launches])
    inside = around >= 0
    time_ns = np.bincount(around[inside], weights=table.duration_ns[made[inside]].astype(float), minlength=len(calls))
    used = np.bincount(around[inside], minlength=len(calls)) > 0
    return calls[used], np.rint(time_ns[used]).astype(np.int64)


def _size(operator: str, shapes: str) -> tuple[int, int, int, int] | None:
    """m, k, n and number of products; None where the arguments do not tell."""
    try:
        m, k, n, batch = PRODUCTS[operator](json.loads(shapes))
    except (ValueError, TypeError, IndexError):
        return None
    return int(m), int(k), int(n), int(batch)
