"""What to train synchronously, on how many processes, how long, and what to wait for instead of doing it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from mlperf.collect.protocol.rules import above_zero, learning, refuse_broken
from mlperf.core.places import take_path
from mlperf.specs.network.cnn import CnnSpec

PLACE = "mlperf collect ddp"
ENGINES = {"numpy": "numpy+mpi", "torch": "torch+gloo"}
WAITS = ("auto", "never", "always")
REAL, EMULATED = "real", "emulated compute"
LEAST_BYTES, MOST_BYTES, FACTOR = 2**12, 2**24, 4
"""Sizes of the isolated exchange: at least up to the second, and up to the largest gradient."""
FP32_BYTES = 4
START_S = 2.5
"""What a launch of ranks takes before the first step, roughly."""


@dataclass(frozen=True, slots=True)
class DdpRequest:
    """What to run.

    Attributes
    ----------
    out : Path or str
        Folder of the tables; the same request continues what was interrupted.
    cnns : tuple of CnnSpec
        Networks; empty takes a small one for the digits.
    data : Path, str or None
        NumPy file with images and labels, or a named data set, for networks that can read it; None: the digits for networks that
        read 8 x 8 elements, random images for others.
    n_processes, subbatch_sizes : tuple of int
        Every combination with every network is a setting.
    repeats : int
        Runs of each setting, each repeat in an order of its own.
    run_s : float
        Seconds of timed steps of a run.
    engine : str
        One of `ENGINES`.
    wait : str
        ``auto`` waits instead of computing where there are more processes than cores; ``never``, ``always``.
    exchange_bytes : tuple of int, optional
        Sizes of the isolated exchange; empty measures none, None those of `exchange_sizes`.
    learning_rate, momentum : float
        Of plain SGD on the mean gradient over all processes.
    limit_s : float
        Longest wait for another process.
    seed : int
        Of weights, order of samples, waits.
    mpiexec : str or None
        Launcher with its arguments.
    """

    out: Path
    cnns: tuple[CnnSpec, ...] = ()
    data: Path | str | None = None
    n_processes: tuple[int, ...] = (1, 2, 4)
    subbatch_sizes: tuple[int, ...] = (8, 16, 32)
    repeats: int = 3
    run_s: float = 1.5
    engine: str = "numpy"
    wait: str = "auto"
    exchange_bytes: tuple[int, ...] | None = None
    learning_rate: float = 0.01
    momentum: float = 0.9
    limit_s: float = 120.0
    seed: int = 0
    mpiexec: str | None = None

    def __post_init__(self) -> None:
        take_path(self)

    @property
    def engine_name(self) -> str:
        """What every row says computes and exchanges."""
        return ENGINES[self.engine]

    def mode(self, n_processes: int) -> str:
        """What every row of so many processes says: real, or what was waited for."""
        waits = self.wait == "always" or (self.wait == "auto" and n_processes > (os.cpu_count() or 1))
        return EMULATED if waits else REAL

    def needs_rounds(self) -> tuple[int, ...]:
        """Process counts whose computing is waited for."""
        return tuple(count for count in self.n_processes if self.mode(count) == EMULATED)


def settings_of(request: DdpRequest, cnns: tuple[CnnSpec, ...]) -> list[tuple[str, int]]:
    """Every network with every sub-batch, the settings of one launch."""
    return [(cnn.name, size) for cnn, size in product(cnns, request.subbatch_sizes)]


def exchange_sizes(request: DdpRequest, cnns: Sequence[CnnSpec]) -> tuple[int, ...]:
    """Bytes of the isolated exchanges: those asked for, else from 4 KiB in steps of 4 to 16 MiB and past the largest gradient."""
    if request.exchange_bytes is not None:
        return request.exchange_bytes
    most = max(MOST_BYTES, *(FP32_BYTES * cnn.n_params for cnn in cnns))
    sizes = [LEAST_BYTES]
    while sizes[-1] < most:
        sizes.append(FACTOR * sizes[-1])
    return tuple(sizes)


def check_request(request: DdpRequest) -> None:
    """Refuse what cannot be run before anything is written.

    Raises
    ------
    UsageError
        Says what is wrong and what to give instead.
    """
    names = [cnn.name for cnn in request.cnns]
    rules = (
        (request.engine not in ENGINES, f"got engine {request.engine!r}, expected one of {', '.join(ENGINES)}"),
        (request.wait not in WAITS, f"got wait {request.wait!r}, expected one of {', '.join(WAITS)}"),
        (min((*request.n_processes, *request.subbatch_sizes, request.repeats), default=0) < 1, "expected counts of at least 1"),
        above_zero({"seconds of a run": request.run_s, "limit": request.limit_s}),
        learning(request.learning_rate, request.momentum),
        (any(size < 4 or size % 4 for size in request.exchange_bytes or ()), "expected sizes of exchanges in multiples of 4 bytes"),
        (len(set(names)) != len(names), "got two networks of one name, expected different names"),
    )
    refuse_broken(rules, PLACE)
