"""Which swarm each event of a recorded run belongs to."""

from __future__ import annotations

import numpy as np

from mlperf.traces.events.kinds import UNSET
from mlperf.traces.swarms.functions import collapse
from mlperf.traces.swarms.swarms import Swarms
from mlperf.traces.timeline.flames import Groups
from mlperf.traces.whole_run.recording import Recording


def event_swarms(recording: Recording, found: Swarms) -> Groups:
    """The swarm of each event's function; -1 for events that are no work of a function, marks among them.

    Parameters
    ----------
    recording : Recording
    found : Swarms
        Of this recording.
    """
    functions = collapse(recording.events, recording.start_ns, recording.end_ns)
    of_event = np.full(len(recording.events), UNSET, dtype=np.int64)
    of_event[functions.rows] = found.functions["swarm"].to_numpy(np.int64)[functions.of_row]
    return Groups(tuple(found.swarms["name"]), of_event)
