"""Training with parameter servers, run for real over MPI."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "Configuration": "mlperf.collect.servers.configuration",
        "LayerPlan": "mlperf.systems.model_parallel.plans",
        "EmulatedNetwork": "mlperf.collect.servers.request",
        "ServersRequest": "mlperf.collect.servers.request",
        "ServerRuns": "mlperf.collect.servers.summary",
        "run_servers": "mlperf.collect.servers.campaign",
        "shipped_nets": "mlperf.collect.servers.net",
    },
)
