"""Everything that a recording tells, for its page; what it does not tell, with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.planning.advice.advise import Advice, advise
from mlperf.report.recordings.page.parts import PageParts
from mlperf.traces.events.kinds import Kind
from mlperf.traces.links.matrix import CommMatrix, matrix_of_events
from mlperf.traces.links.rings import compare_rings
from mlperf.traces.links.topology import Links
from mlperf.traces.swarms.swarms import Swarms, find_swarms
from mlperf.traces.whole_run.event_phases import event_phases
from mlperf.traces.whole_run.event_swarms import event_swarms
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import RunSteps, find_steps

Found = TypeVar("Found")
TALKING = tuple(int(kind) for kind in (Kind.SEND, Kind.ISEND, Kind.MEMCPY, Kind.PACKET))


def gather_parts(
    recording: Recording, *, marker: str | None = None, level: int | None = None, links: Links | None = None
) -> PageParts:
    """Find steps, swarms, communication and hints of a recording.

    Parameters
    ----------
    recording : Recording
    marker, level
        What a step is: see `mlperf.traces.whole_run.steps.find_steps`.
    links : Links, optional
        Of the machine, for the ring.

    Raises
    ------
    DataError
        Steps that were asked for by a marker or level are not there; whatever else is missing is told on the page.
    """
    missing: dict[str, str] = {}
    steps: RunSteps | None
    if marker is not None or level is not None:
        steps = find_steps(recording, marker=marker, level=level)
    else:
        steps = _tried("steps", missing, find_steps, recording)
    swarms: Swarms | None = _tried("swarms", missing, _swarms, recording, steps)
    advice: Advice | None = None
    if steps is None:
        missing["advice"] = missing["steps"]
    else:
        advice = _tried("advice", missing, advise, recording, steps, links=links)
    matrix = _matrix(recording, missing)
    return PageParts(
        recording,
        steps,
        None if steps is None else event_phases(recording.events, steps, marker),
        None if swarms is None else event_swarms(recording, swarms),
        None if swarms is None else swarms.swarms,
        None if swarms is None else swarms.pairs,
        None if matrix is None else matrix.to_frame(),
        None if matrix is None else _tried("rings", missing, _rings, matrix, links),
        advice,
        missing,
    )


def _swarms(recording: Recording, steps: RunSteps | None) -> Swarms:
    """Swarms, with pairs in the steps of the first rank."""
    windows = None if steps is None else steps.windows[0]
    return find_swarms(recording.events, recording.start_ns, recording.end_ns, windows=windows, source=str(recording.folder))


def _tried(name: str, missing: dict[str, str], find: Callable[..., Found], *given: Any, **more: Any) -> Found | None:
    """What can be found, or None with the reason."""
    try:
        return find(*given, **more)
    except DataError as error:
        missing[name] = error.message
        return None


def _matrix(recording: Recording, missing: dict[str, str]) -> CommMatrix | None:
    """Pairs that communicate."""
    talks = any((recording.events.kind == kind).any() for kind in TALKING)
    if not talks:
        missing["matrix"] = "no messages between ranks, no copies and no packets were recorded"
        return None
    found = matrix_of_events(recording.events)
    if not found.comm_matrix_bytes.any():
        missing["matrix"] = "messages, copies or packets do not tell from where to where they go"
        return None
    return found


def _rings(matrix: CommMatrix, links: Links | None) -> pd.DataFrame | None:
    """Links of the ring in use and of the best one; None where the traffic closes none."""
    found = compare_rings(matrix, links).links
    return found if len(found) else None
