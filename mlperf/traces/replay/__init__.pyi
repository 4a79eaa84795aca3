"""What `mlperf.traces.replay` imports on first use, as type checkers see it."""

from mlperf.traces.replay.batch import Change, changed_edges, replay_batch
from mlperf.traces.replay.run import Replay, replay, replay_of
from mlperf.traces.replay.splits import Splits
from mlperf.traces.replay.table import as_table
from mlperf.traces.replay.times import Times
from mlperf.traces.replay.timing import Network, Timing
from mlperf.traces.replay.waits import Waits, waits_of

__all__ = [
    "Change",
    "Network",
    "Replay",
    "Splits",
    "Times",
    "Timing",
    "Waits",
    "as_table",
    "changed_edges",
    "replay",
    "replay_batch",
    "replay_of",
    "waits_of",
]
