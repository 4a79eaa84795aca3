"""What is run and what it is judged by: a TOML file, fixed before the runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mlperf.core.documents import read_toml
from mlperf.core.errors import DataError

RANKS_NONE = "ranks-none"
"""The run of several ranks without a fault."""
OF_RANKS = (RANKS_NONE, "slow-rank", "rotating-rank")
RING_NONE, RING_ORDER = "ring-none", "ring-order"
"""Runs over the best ring and over the wrong one."""
OF_RING = (RING_NONE, RING_ORDER)
CPP, CPP_NONE = "cpp-", "cpp-none"
"""Runs whose names begin so are those of the rest of their names, with a decoder in C++."""
CLEAN = ("none", CPP_NONE, RANKS_NONE, RING_NONE)


@dataclass(frozen=True, slots=True)
class RanksSettings:
    """Runs of several ranks: number, hidden units, batch, wait for an accelerator in milliseconds."""

    n_ranks: int
    hidden: int
    batch: int
    device_ms: float


@dataclass(frozen=True, slots=True)
class RingSettings:
    """Runs over rings: ranks, steps, values of a ring's part, computing in milliseconds, and devices in the wrong order."""

    n_ranks: int
    steps: int
    values: int
    compute_ms: float
    wrong_order: str


@dataclass(frozen=True, slots=True)
class ErrorLimits:
    """Largest errors as shares."""

    gain: float
    step: float
    parts: float
    processor_time: float


@dataclass(frozen=True, slots=True)
class FaultLimits(ErrorLimits):
    """The same with what recording costs, and the clocks in nanoseconds."""

    overhead: float
    clock_ns: int


@dataclass(frozen=True, slots=True)
class FaultProtocol:
    """All of it.

    Attributes
    ----------
    repeats, steps : int
        Runs of each fault; steps of a run.
    causes : mapping
        Run to the cause that the first hint must name; empty: no hint.
    ranks : RanksSettings
    ring : RingSettings
    limits : FaultLimits
    """

    repeats: int
    steps: int
    causes: Mapping[str, str]
    ranks: RanksSettings
    ring: RingSettings
    limits: FaultLimits


def read_fault_protocol(path: Path) -> FaultProtocol:
    """Read a protocol.

    Raises
    ------
    DataError
        A table or a value is missing, or one too many is there.
    """
    document = read_toml(path)
    wanted = {"repeats", "steps", "causes", "ranks", "ring", "limits"}
    if set(document) != wanted:
        raise DataError(f"got {', '.join(document)}, expected {', '.join(sorted(wanted))}", place=str(path))
    try:
        return FaultProtocol(
            int(document["repeats"]),
            int(document["steps"]),
            dict(document["causes"]),
            RanksSettings(**document["ranks"]),
            RingSettings(**document["ring"]),
            FaultLimits(**document["limits"]),
        )
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(str(error), place=str(path)) from None
