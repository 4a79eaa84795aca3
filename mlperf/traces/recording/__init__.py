"""Recording of message-passing programs: the PMPI library built and preloaded, the proxy for mpi4py, commands run under them."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "build_recorder": "mlperf.traces.recording.build",
        "RecordRequest": "mlperf.traces.recording.run",
        "record": "mlperf.traces.recording.run",
        "Recorded": "mlperf.traces.recording.recorded",
        "read_profile": "mlperf.traces.recording.profile",
        "wrap": "mlperf.traces.recording.mpi_proxy",
        "unwrap": "mlperf.traces.recording.mpi_proxy",
        "region": "mlperf.traces.recording.regions",
        "torch_profile": "mlperf.traces.recording.torch_traces",
    },
)
