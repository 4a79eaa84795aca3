"""SWC-O: workload characteristics of compiled code: static instruction counts."""

from __future__ import annotations

from mlperf.core.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "CLASSES": "mlperf.features.code.processors.instruction",
        "Exit": "mlperf.features.code.flow",
        "FunctionCounts": "mlperf.features.code.counts",
        "Instruction": "mlperf.features.code.processors.instruction",
        "LoopFacts": "mlperf.features.code.flow",
        "Tally": "mlperf.features.code.counts",
        "count_features": "mlperf.features.code.table",
        "count_instructions": "mlperf.features.code.read",
        "find_loops": "mlperf.features.code.flow",
        "iterate_functions": "mlperf.features.code.read",
        "swc_o": "mlperf.features.code.table",
    },
)
