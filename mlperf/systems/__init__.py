"""How component times couple: pure equations, arrays in, arrays out. No CNN, no fit, no file."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "COMPONENTS": "mlperf.systems.sprint.components",
        "ComponentTimes": "mlperf.systems.base.times",
        "RunGrid": "mlperf.systems.base.times",
        "System": "mlperf.systems.base.system",
        "Solution": "mlperf.systems.base.system",
        "closed_queue": "mlperf.systems.coupling.queues",
        "simulate_servers": "mlperf.systems.parameter_server.simulate",
        "ServerPlan": "mlperf.systems.parameter_server.simulate",
        "find_system": "mlperf.systems.registry",
        "solve_iterations": "mlperf.systems.sprint.equations",
        "epoch_outputs": "mlperf.systems.sprint.outputs",
    },
)
