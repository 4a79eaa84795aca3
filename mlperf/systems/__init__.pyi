"""What `mlperf.systems` imports on first use, as type checkers see it."""

from mlperf.systems.base.system import Solution, System
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.coupling.queues import closed_queue
from mlperf.systems.parameter_server.simulate import ServerPlan, simulate_servers
from mlperf.systems.registry import find_system
from mlperf.systems.sprint.components import COMPONENTS
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.outputs import epoch_outputs

__all__ = [
    "COMPONENTS",
    "ComponentTimes",
    "RunGrid",
    "ServerPlan",
    "Solution",
    "System",
    "closed_queue",
    "epoch_outputs",
    "find_system",
    "simulate_servers",
    "solve_iterations",
]
