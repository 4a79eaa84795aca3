"""DWC-O as a table: one row a sample with what was known then, and the targets that came later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError, UsageError
from mlperf.core.files import write_text_whole
from mlperf.datasets.streams.performance import N_DECIDING, PERFORMANCE, Performance, choose_performance, performance_named
from mlperf.datasets.streams.read import Stream, read_stream
from mlperf.features.network.base import KEY, FeatureTable, check_keys_once
from mlperf.features.streams.window import Window, Windows, window_columns


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
            seconds = len(rates) * stream.interval_s
            got = f"got {seconds:.3g} s of samples, expected more than the horizon of {horizon_s:g} s"
            raise DataError(got, place=str(path), hint="Record the program for longer, or look less far ahead with --horizon.")
        keys = sample_keys(stream.name, len(rates))[: len(ahead)]
        frames.append(pd.DataFrame({KEY: keys, "performance_ahead": ahead, "time_s": [1.0 / rate for rate in ahead]}))
    return pd.concat(frames, ignore_index=True)


def write_targets(targets: pd.DataFrame, path: Path | str) -> None:
    """Write a table of targets as CSV, whole or not at all."""
    write_text_whole(Path(path), targets.to_csv(index=False, float_format="%.17g", lineterminator="\n"))


DIGITS = 6


def stream_performance(stream: Stream, named: str | None = None) -> Performance:
    """The performance of a stream: what was named, what its recording says, or the best witness in its first samples.

    Raises
    ------
    DataError
        There is no such column, or no witness at all.
    """
    said = named or stream.settings.get("performance")
    if said:
        return performance_named(said, stream.columns, stream.name)
    first = {name: stream.values[:N_DECIDING, index] for index, name in enumerate(stream.columns)}
    found = choose_performance({name: [float(each) for each in values] for name, values in first.items()})
    if found is None:
        known = ", ".join(each.column for each in PERFORMANCE.values())
        raise DataError(
            f"got columns {', '.join(stream.columns):.200}, expected one that says how fast the program runs",
            place=f"stream {stream.name}",
            hint=f"Such as {known}; mlperf features dwc-o takes any: --performance COLUMN.",
        )
    return found


def stream_windows(stream: Stream, performance: Performance) -> Iterator[Window]:
    """Windows of a stream, in order, each made before the next sample is looked at."""
    windows = Windows(stream.columns, performance, stream.interval_s, already_rates=stream.is_rates)
    for t_s, values in zip(stream.t_s, stream.values, strict=True):
        window = windows.push(float(t_s), values)
        if window is not None:
            yield window


def steps_ahead(horizon_s: float, interval_s: float) -> int:
    """Samples that make up the horizon, at least one."""
    return max(1, round(horizon_s / interval_s))


def sample_keys(name: str, n_samples: int) -> list[str]:
    """``NAME:000001`` ...: the key of a sample in a table of several streams."""
    return [f"{name}:{number:0{DIGITS}d}" for number in range(1, n_samples + 1)]


def dwc_o(paths: Sequence[Path | str], *, performance: str | None = None, horizon_s: float | None = None) -> FeatureTable:
    """Features of every sample of some streams.

    Parameters
    ----------
    paths : sequence of path
        Recorded streams with the same columns.
    performance : str, optional
        ``"progress"``, ``"instructions"``, ``"cpu"``, ``"io"`` or a counter's name; default what the recording says.
    horizon_s : float, optional
        Keep those samples only after which the stream goes on so long, seconds: the rows of `future_targets`.

    Returns
    -------
    FeatureTable
        Kind ``dwc-o``; the key is ``STREAM:NUMBER``.

    Raises
    ------
    DataError
        A stream that cannot be read, two of the same name, or other columns than the first one's.
    """
    streams = [read_stream(path) for path in paths]
    check_keys_once([stream.name for stream in streams], [str(path) for path in paths])
    frames, notes = [], []
    columns = None
    for path, stream in zip(paths, streams, strict=True):
        chosen = stream_performance(stream, performance)
        counters = tuple(name for name in stream.columns if name != chosen.column)
        if columns is not None and columns != window_columns(chosen, counters):
            raise DataError(
                "got other columns or another performance than in the first stream",
                place=str(path),
                hint="Streams of one table come from the same recorder; make a table for each kind.",
            )
        columns = window_columns(chosen, counters)
        frame = window_frame(stream.name, list(stream_windows(stream, chosen)), [column.name for column in columns])
        n_kept = len(frame) - (steps_ahead(horizon_s, stream.interval_s) if horizon_s else 0)
        frames.append(frame[: max(0, n_kept)])
        notes += [f"{path}: {note}" for note in stream.notes]
        if n_kept < len(frame):
            notes.append(f"{path}: the last {len(frame) - n_kept} samples are left out, their outcome is not known")
    if columns is None:
        raise DataError("got no stream, expected at least one", place="mlperf features dwc-o")
    digests = {str(path): stream.sha256 for path, stream in zip(paths, streams, strict=True)}
    return FeatureTable("dwc-o", pd.concat(frames, ignore_index=True), columns, digests, tuple(notes))


def window_frame(name: str, windows: Sequence[Window], columns: Sequence[str]) -> pd.DataFrame:
    """Windows of one stream as rows behind their keys."""
    n_counters = len(windows[0].scaled) if windows else 0
    rows = [
        np.concatenate(
            [
                [window.t_s, window.performance, window.level],
                window.terms[: len(window.terms) - n_counters],
                window.scaled,
                window.terms[len(window.terms) - n_counters :],
            ]
        )
        for window in windows
    ]
    frame = pd.DataFrame(np.array(rows).reshape(len(rows), len(columns)), columns=list(columns))
    frame.insert(0, KEY, sample_keys(name, len(frame)))
    return frame
