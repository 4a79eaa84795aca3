"""What a recording tells, and why it does not tell the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_recordings import N_STEPS, everything

from mlperf.core.errors import DataError
from mlperf.report.recordings.page.gather import gather_parts
from mlperf.traces.events.counters import counter_table
from mlperf.traces.events.table import event_table
from mlperf.traces.whole_run.recording import Recording


def test_everything_is_found() -> None:
    parts = gather_parts(everything())
    assert parts.steps is not None
    assert len(parts.steps.steps) == 2 * N_STEPS
    assert parts.swarms is not None
    assert len(parts.swarms.of_event) == len(parts.recording.events)
    assert parts.matrix is not None
    assert {("rank 0", "rank 1")} <= set(zip(parts.matrix["sender"], parts.matrix["receiver"], strict=True))
    assert parts.advice is not None
    assert not parts.missing


def test_what_is_missing_has_a_reason() -> None:
    parts = gather_parts(Recording(Path("nothing"), {}, event_table(0), counter_table([]), 0, 1))
    assert (parts.steps, parts.swarms, parts.matrix, parts.advice) == (None, None, None, None)
    assert set(parts.missing) == {"steps", "swarms", "matrix", "advice"}
    assert all(parts.missing.values())


def test_steps_that_were_asked_for_must_be_there() -> None:
    with pytest.raises(DataError, match="no mark fits"):
        gather_parts(everything(), marker="epoch")
