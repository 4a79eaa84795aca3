"""What `mlperf.traces.recording` imports on first use, as type checkers see it."""

from mlperf.traces.recording.build import build_recorder
from mlperf.traces.recording.mpi_proxy import unwrap, wrap
from mlperf.traces.recording.profile import read_profile
from mlperf.traces.recording.recorded import Recorded
from mlperf.traces.recording.regions import region
from mlperf.traces.recording.run import RecordRequest, record
from mlperf.traces.recording.torch_traces import torch_profile

__all__ = [
    "RecordRequest",
    "Recorded",
    "build_recorder",
    "read_profile",
    "record",
    "region",
    "torch_profile",
    "unwrap",
    "wrap",
]
