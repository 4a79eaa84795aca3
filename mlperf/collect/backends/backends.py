"""What can run the work that is measured: the NumPy engine, torch on the CPU, torch on a CUDA device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from mlperf.collect.cnn_engine.builder import Operation
from mlperf.collect.cnn_engine.engine import training_step
from mlperf.collect.cnn_engine.timers import DeviceTimer, ThreadTimer, Timer
from mlperf.collect.protocol.host import memory_bytes
from mlperf.collect.protocol.limits import explicit_bytes, explicit_refusal, library_bytes, library_refusal
from mlperf.core.errors import UsageError
from mlperf.core.extras import require
from mlperf.core.suggest import nearest_hint
from mlperf.specs.kernels.kernels import KernelCall, kernel_calls
from mlperf.specs.kernels.layer_calls import library_calls
from mlperf.specs.network.cnn import CnnSpec

RANDOM_BLOCK = 2**16 + 1


class Step(Protocol):
    """One training step, laid out and ready to run again and again."""

    @property
    def run(self) -> Callable[[], object]:
        """The whole step, timers inside it off."""

    @property
    def operations(self) -> Sequence[Operation]:
        """The training step call by call."""


@dataclass(frozen=True, slots=True, eq=False)
class Backend:
    """One thing that runs work.

    Attributes
    ----------
    name : str
        As in the tables' column ``backend``.
    timer : Timer
        Its clock.
    make_step : callable
        A network's training step at a sub-batch size.
    calls : callable
        What ``operations`` of that step are, in the same order.
    step_bytes : callable
        Memory that the step needs, about.
    memory_bytes : int
        Memory there is.
    refusal : callable
        Why a network cannot run at a sub-batch size; empty where it can.
    filled : callable
        A block of random numbers of a size, where the backend computes.
    multiply : callable
        ``multiply(a, b, out=c)``: one matrix product.
    clock : str
        What host.json says of the clock.
    device : Mapping[str, object]
        Facts about the device; empty for the CPU.
    on_device : module or None
        torch, where vectors live on a device.
    """

    name: str
    timer: Timer
    make_step: Callable[[CnnSpec, int], Step]
    calls: Callable[[CnnSpec, int], tuple[KernelCall, ...]]
    step_bytes: Callable[[CnnSpec, int], int]
    memory_bytes: int
    refusal: Callable[[CnnSpec, int], str]
    filled: Callable[[int], Any]
    multiply: Callable[..., object]
    clock: str
    device: Mapping[str, object] = field(default_factory=dict)
    on_device: Any = None


THREAD_CLOCK = "CLOCK_THREAD_CPUTIME_ID"
DEVICE_CLOCK = "device events; cpu_s behind a held queue (busy time), wall_s in the free stream"


@contextmanager
def numpy_backend() -> Iterator[Backend]:
    """The explicit engine on NumPy's BLAS."""
    yield Backend(
        "numpy",
        ThreadTimer(),
        training_step,
        kernel_calls,
        explicit_bytes,
        memory_bytes(),
        explicit_refusal,
        filled,
        np.matmul,
        THREAD_CLOCK,
    )


@contextmanager
def torch_backend() -> Iterator[Backend]:
    """Layers of torch on one CPU thread.

    Raises
    ------
    MissingExtraError
        torch is not installed.
    """
    torch = require("torch", "torch")
    with one_torch_thread(torch):
        yield library_backend(torch, "torch", "cpu", ThreadTimer(), memory_bytes(), THREAD_CLOCK)


@contextmanager
def cuda_backend() -> Iterator[Backend]:
    """Layers of torch on the current CUDA device, in plain single precision.

    Raises
    ------
    MissingExtraError
        torch is not installed.
    UsageError
        torch finds no CUDA device.
    """
    torch = require("torch", "torch")
    check_device(torch)
    facts = torch.cuda.get_device_properties(torch.cuda.current_device())
    device = {
        "name": facts.name,
        "memory_bytes": facts.total_memory,
        "n_multiprocessors": facts.multi_processor_count,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
    }
    with one_torch_thread(torch), plain_single_precision(torch):
        timer = DeviceTimer(torch.cuda)
        yield library_backend(torch, "cuda", "cuda", timer, facts.total_memory, DEVICE_CLOCK, device)


BACKENDS = {"numpy": numpy_backend, "torch": torch_backend, "cuda": cuda_backend}


def check_backend(name: str) -> None:
    """Refuse an unknown name.

    Raises
    ------
    UsageError
        No backend of that name.
    """
    if name not in BACKENDS:
        raise UsageError(f"got backend {name!r}, expected one of {', '.join(BACKENDS)}", hint=nearest_hint(name, BACKENDS))


def library_backend(
    torch: Any, name: str, place: str, timer: Timer, memory: int, clock: str, device: Mapping[str, object] | None = None
) -> Backend:
    """Layers of torch at ``place``."""
    from mlperf.collect.backends.torch_step import library_step

    return Backend(
        name,
        timer,
        lambda cnn, subbatch_size: library_step(cnn, subbatch_size, place),
        library_calls,
        library_bytes,
        memory,
        library_refusal,
        lambda size: torch.from_numpy(filled(size)).to(place),
        torch.mm,
        clock,
        device or {},
        torch if place == "cuda" else None,
    )


def filled(size: int) -> Any:
    """Random numbers around 0, one block repeated."""
    block = np.random.default_rng(0).standard_normal(min(size, RANDOM_BLOCK)).astype(np.float32)
    return np.resize(block, size)


def check_device(torch: Any) -> None:
    """Refuse a machine on which torch finds no CUDA device.

    Raises
    ------
    UsageError
        Says whether the build of torch or the device is missing.
    """
    if torch.cuda.is_available():
        return
    if torch.version.cuda is None:
        message = f"got torch {torch.__version__}, which is built without CUDA, expected a build with it"
    else:
        message = f"torch {torch.__version__} (CUDA {torch.version.cuda}) finds no device, expected one"
    raise UsageError(
        message, place="backend 'cuda'", hint="Measure the CPU with --backend torch or numpy, or run this on a machine with a GPU."
    )


@contextmanager
def one_torch_thread(torch: Any) -> Iterator[None]:
    """Hold torch's own threads at one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def plain_single_precision(torch: Any) -> Iterator[None]:
    """No TF32, and cuDNN's own choice of algorithms instead of trials."""
    settings = (
        (torch.backends.cuda.matmul, "allow_tf32"),
        (torch.backends.cudnn, "allow_tf32"),
        (torch.backends.cudnn, "benchmark"),
    )
    before = [getattr(owner, name) for owner, name in settings]
    for owner, name in settings:
        setattr(owner, name, False)
    try:
        yield
    finally:
        for (owner, name), value in zip(settings, before, strict=True):
            setattr(owner, name, value)
