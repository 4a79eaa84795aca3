"""What `mlperf.features.code` imports on first use, as type checkers see it."""

from mlperf.features.code.counts import FunctionCounts, Tally
from mlperf.features.code.flow import Exit, LoopFacts, find_loops
from mlperf.features.code.processors.instruction import CLASSES, Instruction
from mlperf.features.code.read import count_instructions, iterate_functions
from mlperf.features.code.table import count_features, swc_o

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
