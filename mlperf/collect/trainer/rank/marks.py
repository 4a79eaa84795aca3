"""Iterations and updates as marks, where ``mlperf record`` runs the trainer: what the ledgers keep, on the recorder's time axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from mlperf.collect.trainer.ledger import GPU_TIMES, UPDATE_TIMES
from mlperf.core.marks import mark_laps

STEP = "step"
UPDATE = "update of the weights"
GPU_NAMES, UPDATE_NAMES = (tuple(name.removesuffix("_s") for name in names) for names in (GPU_TIMES, UPDATE_TIMES))


@dataclass(frozen=True, slots=True)
class GpuMarks:
    """Marks of one worker thread; nothing where no recorder asks for them.

    Attributes
    ----------
    gpu : int
        Its number on the node. Iterations of the first are the node's steps; the others are marked under names of their own, for
        they overlap.
    """

    gpu: int = 0

    def iteration(self, start_s: float, times_s: Sequence[float]) -> None:
        """An iteration of Algorithm 1, and its components, `GPU_TIMES`, in their order."""
        name = STEP if self.gpu == 0 else f"{STEP} of worker {self.gpu}"
        mark_laps(name, GPU_NAMES, list(accumulate(times_s, initial=start_s)))


def mark_update(start_s: float, times_s: Sequence[float]) -> None:
    """An update of Algorithm 2, and its parts, `UPDATE_TIMES`; the first two are sums over the buffers."""
    mark_laps(UPDATE, UPDATE_NAMES, list(accumulate(times_s, initial=start_s)))
