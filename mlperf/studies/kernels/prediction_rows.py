"""Kernels that somebody asks about: patterns with a size, and their compiled code where it is at hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.core.errors import UsageError
from mlperf.datasets.campaigns.kernel_times import normal_form
from mlperf.features.code import swc_o
from mlperf.studies.kernels.tables.kernel_times import KernelTimes
from mlperf.studies.kernels.tables.machines import ASSUMED


def asked_kernels(patterns: Sequence[str], size: int, files: Sequence[Path | str] = ()) -> KernelTimes:
    """Kernels nobody has run.

    Parameters
    ----------
    patterns : sequence of str
        ``"ij-jlk-kil"``.
    size : int
        Extent N of every loop.
    files : sequence of path
        Assembler source, objdump listing or object of each pattern, in the same order, one function in each; none: only models of
        the source (SWC-S) can answer.

    Raises
    ------
    UsageError
        As many files as patterns were expected, or no pattern.
    DataError
        As `mlperf.features.code.swc_o`.
    """
    if not patterns:
        raise UsageError("got no pattern, expected at least one such as ij-jlk-kil")
    if files and len(files) != len(patterns):
        raise UsageError(
            f"got {len(files)} files for {len(patterns)} patterns, expected one for each",
            hint="Give them in the order of the patterns.",
        )
    raw = pd.DataFrame({"pattern": list(patterns), "N": size, "time_s": np.nan})
    if files:
        counts = pd.concat([swc_o([file], key="file").frame for file in files], ignore_index=True).fillna(0.0)
        raw = pd.concat([raw, counts.drop(columns="kernel")], axis=1)
    frame, _ = normal_form(raw, timed=False)
    return KernelTimes("patterns", frame, {ASSUMED.name: ASSUMED}, None, {})
