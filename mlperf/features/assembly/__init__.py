"""SWC-O: workload characteristics of compiled code: static instruction counts."""

from __future__ import annotations

from mlperf.features.assembly.counts import FunctionCounts, Tally
from mlperf.features.assembly.flow import Exit, LoopFacts, find_loops
from mlperf.features.assembly.instruction import CLASSES, Instruction
from mlperf.features.assembly.read import count_instructions, iterate_functions
from mlperf.features.assembly.table import count_features, swc_o

__all__ = [
    "CLASSES",
    "Exit",
    "FunctionCounts",
    "Instruction",
    "LoopFacts",
    "Tally",
    "count_features",
    "count_instructions",
    "find_loops",
    "iterate_functions",
    "swc_o",
]
