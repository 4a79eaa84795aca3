"""What `mlperf.collect.servers` imports on first use, as type checkers see it."""

from mlperf.collect.servers.campaign import run_servers
from mlperf.collect.servers.configuration import Configuration
from mlperf.collect.servers.net import shipped_nets
from mlperf.collect.servers.request import EmulatedNetwork, ServersRequest
from mlperf.collect.servers.summary import ServerRuns
from mlperf.systems.model_parallel.plans import LayerPlan

__all__ = [
    "Configuration",
    "EmulatedNetwork",
    "LayerPlan",
    "ServerRuns",
    "ServersRequest",
    "run_servers",
    "shipped_nets",
]
