"""Static counts of a campaign's kernels, from the table or the assembler text beside its times."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlperf.datasets.campaigns.kernel_tables import STATIC_KEY
from mlperf.features.code import swc_o


def count_compiled(frame: pd.DataFrame, folder: Path, stored: pd.DataFrame | None) -> pd.DataFrame:
    """Add SWC-O columns from a stored table, else from ``N<size>/<build>/<kernel>.s``.

    Parameters
    ----------
    frame : DataFrame
        Columns ``N``, ``build``, ``kernel``.
    folder : path
        Of the campaign.
    stored : DataFrame or None
        The same columns with counts.

    Returns
    -------
    DataFrame
        The rows with ``cnt_*``, ``in_*`` and the summaries of `mlperf.features.code.swc_o`; as they came where counts of a
        kernel are missing.
    """
    counts = counted_files(frame, folder) if stored is None else stored
    if counts is None:
        return frame
    fresh = [name for name in counts.columns if name not in frame.columns or name in STATIC_KEY]
    joined = frame.merge(counts[fresh], on=list(STATIC_KEY), how="left", validate="many_to_one")
    return frame if joined[[name for name in fresh if name not in STATIC_KEY]].isna().any(axis=None) else joined


def counted_files(frame: pd.DataFrame, folder: Path) -> pd.DataFrame | None:
    """Counts of every assembler text of the campaign; None where one is missing."""
    parts = []
    for (size, build), rows in frame.groupby(["N", "build"], sort=False):
        place = folder / f"N{size}" / str(build)
        files = [place / f"{kernel}.s" for kernel in dict.fromkeys(rows["kernel"])]
        if not files or not all(file.is_file() for file in files):
            return None
        parts.append(swc_o(files, key="file").frame.assign(N=rows["N"].iloc[0], build=rows["build"].iloc[0]))
    return pd.concat(parts, ignore_index=True).fillna(0.0)
