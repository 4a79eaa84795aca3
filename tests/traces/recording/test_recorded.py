"""What a recording holds and cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from mlperf.traces.readers.recorded import read_rank_files
from mlperf.traces.recording.recorded import Recorded
from mlperf.traces.recording.recorded import recorded as sum_up

pytestmark = pytest.mark.slow

Run = Callable[..., tuple[Recorded, Path]]


def test_events_bytes_and_cost(recorded: Run) -> None:
    found, out = recorded()
    files = read_rank_files(out)
    assert found.n_events == sum(len(each.events) for each in files) > 200
    assert found.n_bytes == sum(path.stat().st_size for path in out.glob("*.mlr"))
    assert found.bytes_per_event == pytest.approx(found.n_bytes / found.n_events)
    assert 0 < found.own_share < 1
    assert found.scale == 1.0
    assert not found.notes


def test_a_folder_without_files(tmp_path: Path) -> None:
    found = sum_up(tmp_path, ("program",), 3)
    assert (found.n_events, found.command_exit_code) == (0, 3)
    assert math.isnan(found.bytes_per_event)
