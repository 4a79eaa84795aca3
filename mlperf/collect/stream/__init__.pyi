"""What `mlperf.collect.stream` imports on first use, as type checkers see it."""

from mlperf.collect.stream.command import WatchedCommand
from mlperf.collect.stream.instructions import InstructionCounter
from mlperf.collect.stream.processes import ProcessTree
from mlperf.collect.stream.progress import PROGRESS_FD, Progress
from mlperf.collect.stream.sampler import Sampler
from mlperf.collect.stream.schedule import Interrupts, ticks

__all__ = [
    "PROGRESS_FD",
    "InstructionCounter",
    "Interrupts",
    "ProcessTree",
    "Progress",
    "Sampler",
    "WatchedCommand",
    "ticks",
]
