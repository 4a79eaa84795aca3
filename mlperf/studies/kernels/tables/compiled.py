"""Static counts of a campaign's kernels, from the table or the assembler text beside its times."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlperf.datasets.reading.folder import SUFFIXES
from mlperf.features.code import swc_o

SETTING = ("N", "build", "kernel")
TABLE = "swc-o"
"""Stem of the table that ``mlperf collect contraction --features`` leaves beside the times."""


def count_compiled(frame: pd.DataFrame, folder: Path) -> pd.DataFrame:
    """Add SWC-O columns from ``swc-o.csv`` or from ``N<size>/<build>/<kernel>.s``.

    Parameters
    ----------
    frame : DataFrame
        Columns ``N``, ``build``, ``kernel``.
    folder : path
        Of the campaign.

    Returns
    -------
    DataFrame
        The rows with ``cnt_*``, ``in_*`` and the summaries of `mlperf.features.code.swc_o`; as they came where counts of a
        kernel are missing.
    """
    stored = [folder / f"{TABLE}{suffix}" for suffix in SUFFIXES if (folder / f"{TABLE}{suffix}").is_file()]
    counts = pd.read_csv(stored[0]) if stored else counted_files(frame, folder)
    if counts is None or not set(SETTING) <= set(counts.columns):
        return frame
    fresh = [name for name in counts.columns if name not in frame.columns or name in SETTING]
    joined = frame.merge(counts[fresh], on=list(SETTING), how="left", validate="many_to_one")
    return frame if joined[[name for name in fresh if name not in SETTING]].isna().any(axis=None) else joined


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
