"""Counters of every kernel of a training step: what hardware and kernel count while each call runs."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.collect.backends.backends import numpy_backend, torch_backend
from mlperf.collect.cnn_engine.builder import Operation
from mlperf.collect.counters.perf_event import HARDWARE, READING, SOFTWARE, Event, open_event, refusal
from mlperf.collect.protocol.clocks import one_computing_thread
from mlperf.core.arrays import FloatArray
from mlperf.core.errors import UsageError
from mlperf.core.files import write_bytes_whole
from mlperf.core.progress import shown_progress
from mlperf.core.shown import Shown
from mlperf.specs.network.cnn import CnnSpec

if TYPE_CHECKING:
    from mlperf.datasets import Campaign

EVENTS: Mapping[str, Event] = {
    name: {**HARDWARE, **SOFTWARE}[name]
    for name in (
        *("hw_instructions", "hw_l1d_load_misses", "hw_cache_misses", "hw_dtlb_load_misses", "hw_branch_misses"),
        "sw_page_faults",
    )
}
COUNTED = MappingProxyType({"numpy": numpy_backend, "torch": torch_backend})
"""What runs on the thread whose events are counted; the work of a device is not among them."""

KEYS = ["backend", "cnn", "subbatch_size", "kernel", "layer"]
N_STEPS = 3
N_EMPTY = 200


@dataclass(frozen=True, slots=True, eq=False)
class KernelCounters(Shown, frame="frame"):
    """What was counted while training steps ran call by call.

    Attributes
    ----------
    frame : DataFrame
        ``backend, cnn, subbatch_size, kernel, layer`` and one column a counter: the median over the counted steps, per call.
    n_steps : int
        Steps of each configuration that were counted, after one that was not.
    absent : mapping
        Counters that this machine does not offer, and why.
    """

    frame: pd.DataFrame
    n_steps: int
    absent: Mapping[str, str]


def count_kernels(
    configurations: Sequence[tuple[CnnSpec, int]],
    backend: str = "numpy",
    *,
    n_steps: int = N_STEPS,
    show_progress: bool = False,
) -> KernelCounters:
    """Run training steps on this machine and count what every kernel call does.

    Parameters
    ----------
    configurations : sequence of (CnnSpec, int)
        Networks with the samples of a step.
    backend : str
        ``"numpy"``: kernels of the explicit engine; ``"torch"``: layers of torch on the CPU.
    n_steps : int
        Steps to count of each, after one that warms up.
    show_progress : bool
        Whether a bar is drawn on stderr.

    Returns
    -------
    KernelCounters
        A counter that this machine does not offer is an absent column, never zero.

    Raises
    ------
    UsageError
        What the backend runs cannot be counted.
    MissingExtraError
        torch is not installed.
    """
    check_counted(backend)
    frames = []
    with ExitStack() as stack:
        # The backend first: the limit of one thread reaches only libraries that are loaded.
        make_step = stack.enter_context(COUNTED[backend]()).make_step
        stack.enter_context(one_computing_thread())
        handles, absent = stack.enter_context(open_counters())
        progress = stack.enter_context(shown_progress(show_progress))
        own = cost_of_reading(tuple(handles.values()))
        progress.start("counting kernels", len(configurations))
        for cnn, subbatch_size in configurations:
            operations = make_step(cnn, subbatch_size).operations
            count_each(operations, ())
            whole = np.median([count_each(operations, tuple(handles.values())) for _ in range(n_steps)], axis=0)
            kernels = [(backend, cnn.name, subbatch_size, each.kernel, each.layer) for each in operations if each.kernel]
            counted = pd.DataFrame(np.maximum(whole - own, 0.0), columns=list(handles))
            frames.append(pd.DataFrame(kernels, columns=KEYS).join(counted))
            progress.advance()
    return KernelCounters(pd.concat(frames, ignore_index=True), n_steps, absent)


def check_counted(backend: str) -> None:
    """Refuse what does not run on the calling thread.

    Raises
    ------
    UsageError
        Names the backends that do.
    """
    if backend not in COUNTED:
        raise UsageError(
            f"got backend {backend!r}, expected one of {', '.join(COUNTED)}",
            hint="Events are counted on one thread of this processor: neither a device nor another program is in them.",
        )


@contextmanager
def open_counters() -> Iterator[tuple[dict[str, int], dict[str, str]]]:
    """Handles of the events of this thread that could be opened, and why the others could not."""
    handles: dict[str, int] = {}
    absent: dict[str, str] = {}
    try:
        for name, event in EVENTS.items():
            try:
                handles[name] = open_event(event)
            except OSError as error:
                absent[name] = refusal(error)
        yield handles, absent
    finally:
        for handle in handles.values():
            os.close(handle)


def count_each(operations: Sequence[Operation], handles: Sequence[int]) -> FloatArray:
    """Run each operation once and count those that have a kernel, shape (n_kernels, n_counters).

    NaN where an event never came to count. What reading the counters costs itself is still in.
    """
    read, size = os.read, READING.size
    raw = []
    for operation in operations:
        run = operation.run
        if not operation.kernel:
            run()
            continue
        before = [read(handle, size) for handle in handles]
        run()
        raw.append((before, [read(handle, size) for handle in handles]))
    return np.array([[difference(*pair) for pair in zip(before, after, strict=True)] for before, after in raw])


def difference(before: bytes, after: bytes) -> float:
    """What an event counted between two readings, scaled up where it shared its counter with others."""
    count, enabled_ns, running_ns = np.subtract(READING.unpack(after), READING.unpack(before))
    return float(count * enabled_ns / running_ns) if running_ns else float("nan")


def cost_of_reading(handles: Sequence[int]) -> FloatArray:
    """What is counted around an operation that does nothing, shape (n_counters,): the median of many."""
    empty = Operation("nothing", "", lambda: None)
    return np.asarray(np.median(count_each([empty] * N_EMPTY, handles), axis=0))


def campaign_configurations(campaign: Campaign, backend: str) -> list[tuple[CnnSpec, int]]:
    """Networks and sub-batch sizes whose kernels a campaign timed with a backend."""
    kernels = campaign.table("kernels")
    pairs = kernels.loc[kernels["backend"] == backend, ["cnn", "subbatch_size"]].drop_duplicates()
    return [(campaign.cnns[str(name)], int(size)) for name, size in pairs.itertuples(index=False)]


def write_counters(counted: KernelCounters, path: Path) -> None:
    """Write the table as CSV, gzipped where the name ends in ``.gz``; whole or not at all."""
    text = counted.frame.to_csv(index=False, float_format="%.10g", lineterminator="\n").encode()
    write_bytes_whole(path, gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
