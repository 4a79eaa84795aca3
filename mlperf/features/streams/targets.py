"""What is to be forecast, in a table of its own: the future must not be among the features."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from mlperf.core.errors import DataError, UsageError
from mlperf.core.files import write_text_whole
from mlperf.datasets.streams.read import read_stream
from mlperf.features.network.base import KEY
from mlperf.features.streams.table import sample_keys, steps_ahead, stream_performance, stream_windows


def future_targets(paths: Sequence[Path | str], horizon_s: float, *, performance: str | None = None) -> pd.DataFrame:
    """Performance ``horizon_s`` after each sample, for those samples where it is known.

    Parameters
    ----------
    paths : sequence of path
        Recorded streams.
    horizon_s : float
        How far ahead, seconds; rounded to whole samples.
    performance : str, optional
        As for ``dwc_o``.

    Returns
    -------
    DataFrame
        ``kernel`` (the key of ``dwc_o``'s table), ``performance_ahead`` (rate), ``time_s`` (seconds for one unit, its inverse).
    """
    if not horizon_s > 0:
        raise UsageError(f"got a horizon of {horizon_s} s, expected seconds > 0")
    frames = []
    for path in paths:
        stream = read_stream(path)
        chosen = stream_performance(stream, performance)
        rates = [window.performance for window in stream_windows(stream, chosen)]
        ahead = rates[steps_ahead(horizon_s, stream.interval_s) :]
        if not ahead:
            raise DataError(f"got {len(rates)} samples, expected more than the horizon of {horizon_s} s takes", place=str(path))
        keys = sample_keys(stream.name, len(rates))[: len(ahead)]
        frames.append(pd.DataFrame({KEY: keys, "performance_ahead": ahead, "time_s": [1.0 / rate for rate in ahead]}))
    return pd.concat(frames, ignore_index=True)


def write_targets(targets: pd.DataFrame, path: Path | str) -> None:
    """Write a table of targets as CSV, whole or not at all."""
    write_text_whole(Path(path), targets.to_csv(index=False, float_format="%.17g", lineterminator="\n"))
