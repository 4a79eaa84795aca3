"""A recording's page and the same contents as files: tables, folded stacks, a trace for Perfetto."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from mlperf.core.errors import UsageError
from mlperf.core.printable import printable
from mlperf.core.shown import Shown
from mlperf.report.recordings.page.flames import write_flames
from mlperf.report.recordings.page.gather import gather_parts
from mlperf.report.recordings.page.page import write_recording_page
from mlperf.report.recordings.page.tables import page_tables, write_tables
from mlperf.traces.links.topology import Links
from mlperf.traces.timeline.flames import folded_stacks
from mlperf.traces.whole_run.chrome_file import write_recording_chrome
from mlperf.traces.whole_run.recording import Recording


@dataclass(frozen=True, slots=True)
class ReportPlaces:
    """Where a report goes; what is None is not written.

    Attributes
    ----------
    page : Path or None
        HTML file.
    tables, flames : Path or None
        Folders of tables (CSV and JSON) and of folded stacks.
    chrome : Path or None
        Chrome trace, gzipped where the name ends in ``.gz``.
    """

    page: Path | None = None
    tables: Path | None = None
    flames: Path | None = None
    chrome: Path | None = None

    def __post_init__(self) -> None:
        if not any((self.page, self.tables, self.flames, self.chrome)):
            hint = "-o PAGE.html writes the page, --tables DIR tables, --flames DIR folded stacks, --chrome FILE a trace."
            raise UsageError("got no place to write to, expected at least one", hint=hint)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WrittenReport(Shown):
    """What was written of a recording.

    Attributes
    ----------
    source : str
        The recording.
    n_events, n_readings : int
    files : DataFrame
        ``file, what, size_bytes``.
    missing : DataFrame
        What the recording does not tell: ``part, reason``.
    """

    source: str
    n_events: int
    n_readings: int
    files: pd.DataFrame
    missing: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """The files."""
        return self.files


def write_report(
    recording: Recording,
    places: ReportPlaces,
    *,
    marker: str | None = None,
    level: int | None = None,
    links: Links | None = None,
) -> WrittenReport:
    """Write a recording's page and files.

    Parameters
    ----------
    recording : Recording
    places : ReportPlaces
    marker, level
        What a step is: see `mlperf.traces.whole_run.steps.find_steps`.
    links : Links, optional
        Of the machine, for the ring.

    Raises
    ------
    DataError
        Steps that were asked for by a marker or level are not there.
    UsageError
        Nothing can be written at a place.
    """
    parts = gather_parts(recording, marker=marker, level=level, links=links)
    files: list[tuple[str, str, int]] = []
    if places.page is not None or places.tables is not None:
        tables = page_tables(parts)
    stacks = folded_stacks(recording.events, parts.swarms, parts.phases) if places.page or places.flames else None
    if places.page is not None:
        files.append((str(places.page), "page", write_recording_page(places.page, parts, tables, stacks)))
    if places.tables is not None:
        files += [(str(path), "table", path.stat().st_size) for path in write_tables(tables, places.tables)]
    if places.flames is not None and stacks is not None:
        files += [(str(path), "folded stacks", path.stat().st_size) for path in write_flames(stacks, places.flames)]
    if places.chrome is not None:
        write_recording_chrome(recording, places.chrome)
        files.append((str(places.chrome), "Chrome trace", places.chrome.stat().st_size))
    return WrittenReport(
        str(recording.folder),
        len(recording.events),
        len(recording.counters),
        pd.DataFrame([(printable(path), *rest) for path, *rest in files], columns=["file", "what", "size_bytes"]),
        pd.DataFrame(parts.missing.items(), columns=["part", "reason"]),
    )
