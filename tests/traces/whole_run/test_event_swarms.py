"""The swarm of each event is that of its function."""

from __future__ import annotations

import numpy as np
from page_recordings import everything

from mlperf.traces.events.kinds import Kind
from mlperf.traces.swarms.swarms import find_swarms
from mlperf.traces.whole_run.event_swarms import event_swarms


def test_time_of_a_swarms_events_is_the_swarms_time() -> None:
    recording = everything()
    swarms = find_swarms(recording.events, recording.start_ns, recording.end_ns)
    found = event_swarms(recording, swarms)
    assert found.names == tuple(swarms.swarms["name"])
    events = recording.events
    sampled = events.kind == Kind.SAMPLE
    for row in swarms.swarms[swarms.swarms["place"] == "processor"].to_dict("records"):
        own = sampled & (found.of_event == row["swarm"])
        np.testing.assert_allclose(events.weight_ns[own].sum() * 1e-9, row["time_s"])
    assert (found.of_event[sampled] >= 0).all()
    assert (found.of_event[events.kind == Kind.REGION] == -1).all()
