"""Matrix products that ran on a device, with the sizes that their operators' arguments tell."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

import pandas as pd

from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable

PRODUCTS: Mapping[str, Callable[[list[list[int]]], tuple[int, ...]]] = MappingProxyType(
    {
        "aten::mm": lambda shapes: (*shapes[0], shapes[1][1], 1),
        "aten::addmm": lambda shapes: (*shapes[1], shapes[2][1], 1),
        "aten::bmm": lambda shapes: (*shapes[0][1:], shapes[1][2], shapes[0][0]),
        "aten::baddbmm": lambda shapes: (*shapes[1][1:], shapes[2][2], shapes[1][0]),
    }
)
"""m, k, n and number of products from the shapes of an operator's arguments."""
COLUMNS = ("operator", "m", "n", "k", "batch", "n_kernels", "n_flops", "mean_s", "min_s", "max_s")
NS = 1e-9


def products(table: EventTable) -> pd.DataFrame:
    """One row for each operator and size, the most time first.

    Returns
    -------
    DataFrame
        ``operator, m, n, k, batch`` (C(m, n) = A(m, k) B(k, n), so many times), ``n_kernels``, ``n_flops`` of one call (two for a
        multiplication and addition), ``mean_s``, ``min_s`` and ``max_s`` of a kernel, seconds.
    """
    kernels = table.take(table.kind == Kind.KERNEL)
    frame = pd.DataFrame({"site": kernels.site, "time_s": kernels.duration_ns * NS})
    groups = frame[frame["site"] >= 0].groupby("site")["time_s"].agg(["size", "mean", "min", "max", "sum"])
    rows = []
    for site, found in groups.sort_values("sum", ascending=False, kind="stable").iterrows():
        size = _size(kernels.strings[int(site)])  # type: ignore[call-overload]
        if size is not None:
            operator, m, k, n, batch = size
            flops = 2 * m * n * k * batch
            rows.append((operator, m, n, k, batch, int(found["size"]), flops, found["mean"], found["min"], found["max"]))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _size(site: str) -> tuple[str, int, int, int, int] | None:
    """Operator, m, k, n and batch of a site; None where it is no product, or tells no shapes."""
    operator, _, shapes = site.partition(" ")
    if operator not in PRODUCTS or not shapes:
        return None
    try:
        m, k, n, batch = PRODUCTS[operator](json.loads(shapes))
    except (ValueError, TypeError, IndexError):
        return None
    return operator, int(m), int(k), int(n), int(batch)
