"""Innermost loops as a mix of instructions per multiplication, so that builds of different width and spelling compare."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.features.code.processors.x86_classes import x86_class

STEM = "in_"
WIDE, NARROW = 8, 4
"""Single-precision lanes of packed arithmetic in VEX and in SSE code, where the table does not hold ``lanes_inner``."""
SCALAR_MOVE = re.compile(r"v?movs[sd]")
MULTIPLIES = ("packed_multiply", "packed_fma", "scalar_multiply", "scalar_fma")


def instruction_mix(counts: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Instructions of the innermost loops by class, per multiplication done.

    Parameters
    ----------
    counts : DataFrame, shape (n_rows, n_mnemonics)
        ``in_<mnemonic>`` of the innermost loops.
    frame : DataFrame, shape (n_rows, ...)
        The rows, for ``lanes_inner`` and ``mem_loads_inner`` where they hold them.

    Returns
    -------
    DataFrame, shape (n_rows, n_columns)
        ``mix_<class>`` for each class that occurs, ``mix_all``, ``mix_memory``, and ``lanes``.
    """
    kinds = {name: mix_class(name.removeprefix(STEM)) for name in map(str, counts.columns)}
    lanes = estimated_lanes(counts, kinds)
    if "lanes_inner" in frame:
        # Of several tables joined, some may hold lanes and some not.
        told = frame["lanes_inner"].to_numpy(float)
        lanes = np.where(np.isfinite(told), told, lanes)
    each = np.where(lanes > 0, lanes, 1.0)
    columns = {
        f"mix_{kind}": counts[[name for name, own in kinds.items() if own == kind]].sum(axis=1).to_numpy(float) / each
        for kind in dict.fromkeys(kinds.values())
    }
    columns["mix_all"] = counts.sum(axis=1).to_numpy(float) / each
    if "mem_loads_inner" in frame:
        columns["mix_memory"] = frame["mem_loads_inner"].to_numpy(float) / each
    return pd.DataFrame(columns | {"lanes": lanes}, index=counts.index)


def mix_class(mnemonic: str) -> str:
    """Class of a mnemonic; moves of one element apart from moves of a vector."""
    if SCALAR_MOVE.fullmatch(mnemonic):
        return "scalar_move"
    return x86_class(mnemonic, 0, 0)


def estimated_lanes(counts: pd.DataFrame, kinds: Mapping[str, str]) -> FloatArray:
    """Multiplications of one pass through the loops, from mnemonics alone."""
    lanes = np.zeros(len(counts))
    for name, kind in kinds.items():
        if kind in MULTIPLIES:
            width = 1 if kind.startswith("scalar") else WIDE if name.startswith(f"{STEM}v") else NARROW
            lanes += width * counts[name].to_numpy(float)
    return lanes
