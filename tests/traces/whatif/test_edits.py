"""Which events an edit means."""

from __future__ import annotations

import numpy as np
import pytest
from stepped_programs import binary_swap, myrinet

from mlperf.core.errors import UsageError
from mlperf.traces.replay import replay
from mlperf.traces.whatif.edits import Edit, event_number, event_places, events_of


def test_events_count_on_their_rank() -> None:
    """Three calls of two events on every rank."""
    run = replay(binary_swap(), myrinet())
    assert events_of(run, Edit("wait", "w", rank=2, index=3)).tolist() == [15]
    assert event_number(run, np.array([15, 0])).tolist() == [3, 0]
    assert len(events_of(run, Edit("wait", "w", site="Sendrecv"))) == 48
    assert event_places(run)[0] == "MPI_Sendrecv"


def test_what_is_not_there_is_told() -> None:
    run = replay(binary_swap(), myrinet())
    with pytest.raises(UsageError, match="w: no rank 8, the run has 8"):
        events_of(run, Edit("wait", "w", rank=8, index=0))
    with pytest.raises(UsageError, match="rank 1 has 6 communication events, the last is 5"):
        events_of(run, Edit("wait", "w", rank=1, index=6))
    with pytest.raises(UsageError, match=r"no event's call site or name holds 'MPI_Sendrcv'.*MPI_Sendrecv"):
        events_of(run, Edit("wait", "w", site="MPI_Sendrcv"))
