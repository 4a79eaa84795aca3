"""Columns and candidate terms of the kernels that a training step runs (SPRINT Tables 1 and 2)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

import pandas as pd

from mlperf.specs.cnn import CnnSpec
from mlperf.specs.kernels import KernelCall, kernel_calls

# A strided copy costs per row of channels, which access_bytes alone cannot show: the second and third terms are
# the number of such rows on the writing and the reading side, the fourth the number of map rows.
MEMORY_TERMS = (
    "access_bytes",
    "access_bytes / maps_out",
    "access_bytes / maps_in",
    "subbatch_size * row_size",
    "sqrt(access_bytes * subbatch_size)",
    "subbatch_size",
)
PAPER_MEMORY_TERMS = ("access_bytes",)
MEMORY_FEATURES = ("access_bytes", "maps_in", "maps_out", "row_size", "map_size", "subbatch_size", "window")

_COLUMNS = tuple(field.name for field in dataclasses.fields(KernelCall))


def kernel_table(cnn: CnnSpec, subbatch_size: int) -> pd.DataFrame:
    """Every kernel call of one training step, one row each in execution order.

    Parameters
    ----------
    cnn : CnnSpec
        The network.
    subbatch_size : int
        Samples a step, >= 1.

    Returns
    -------
    DataFrame, shape (n_calls, ...)
        The fields of `KernelCall` and ``cnn``; sizes are counts, ``access_bytes`` is in bytes.

    References
    ----------
    Oyama et al. (SPRINT), eq. 5 and Table 2.
    """
    calls = kernel_calls(cnn, subbatch_size)
    frame = pd.DataFrame({name: [getattr(call, name) for call in calls] for name in _COLUMNS})
    frame.insert(0, "cnn", cnn.name)
    return frame


def kernel_tables(runs: Iterable[tuple[CnnSpec, int]]) -> pd.DataFrame:
    """Stack the kernel tables of several (CNN, sub-batch) pairs, in the order given.

    Returns
    -------
    DataFrame
        As `kernel_table`, with ``run``, the position of the pair.
    """
    tables = [kernel_table(cnn, subbatch_size).assign(run=run) for run, (cnn, subbatch_size) in enumerate(runs)]
    return pd.concat(tables, ignore_index=True)


def describe_rows(rows: pd.DataFrame, cnns: Mapping[str, CnnSpec]) -> pd.DataFrame:
    """Add to measured kernel rows the characteristics that their CNN's specification gives.

    Parameters
    ----------
    rows : DataFrame
        With ``cnn, subbatch_size, kernel, layer`` (any further columns are kept).
    cnns : mapping
        Specification by name; must hold every name in ``rows``.

    Returns
    -------
    DataFrame
        ``rows`` with the columns of `kernel_table` in the place of ``m, n, k, trans, access_bytes``.
    """
    pairs = rows[["cnn", "subbatch_size"]].drop_duplicates()
    described = kernel_tables((cnns[name], int(size)) for name, size in pairs.itertuples(index=False))
    keys = ["cnn", "subbatch_size", "kernel", "layer"]
    own = [name for name in rows.columns if name in keys or name not in described.columns]
    return rows[own].merge(described.drop(columns="run"), on=keys, how="left", validate="many_to_one")
