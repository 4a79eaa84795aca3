"""Swarms of a recorded run, with pairs in its steps where they can be found."""

from __future__ import annotations

from pathlib import Path

from mlperf.core.errors import DataError
from mlperf.traces.swarms.keywords import read_rules
from mlperf.traces.swarms.swarms import Swarms, find_swarms
from mlperf.traces.timeline.windows import Windows
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import find_steps


def swarms_of(recording: Recording, *, keywords: Path | None = None, marker: str | None = None, level: int | None = None) -> Swarms:
    """Group the functions of a recorded run.

    Parameters
    ----------
    recording : Recording
    keywords : Path, optional
        TOML file of rules in place of the package's.
    marker, level
        What a step is: see `mlperf.traces.whole_run.steps.find_steps`. Pairs are tested in the steps of the first rank.

    Raises
    ------
    DataError
        Nothing to group, or rules that are none. Steps that were asked for by a marker or level and are not there; where nothing
        was asked for, a note says that pairs are not tested.
    """
    windows, why = _windows(recording, marker, level)
    found = find_swarms(
        recording.events,
        recording.start_ns,
        recording.end_ns,
        rules=read_rules(keywords),
        windows=windows,
        source=str(recording.folder),
    )
    notes = (*found.notes, *([why] if why else []))
    return Swarms(found.source, found.swarms, found.functions, found.pairs, found.activity_s, found.start_s, found.end_s, notes)


def _windows(recording: Recording, marker: str | None, level: int | None) -> tuple[Windows | None, str]:
    """Steps of the first rank, or why there are none."""
    try:
        return find_steps(recording, marker=marker, level=level).windows[0], ""
    except DataError as error:
        if marker is not None or level is not None:
            raise
        return None, f"pairs of swarms are not tested: {error.message}"
