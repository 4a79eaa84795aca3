"""What a finding says in words: one sentence of what was seen, one of what to do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from mlperf.planning.advice.findings import (
    BAD_STEPS,
    INPUT,
    LOCK,
    MEMORY,
    PAUSE,
    RING,
    ROTATING_RANK,
    SCALAR,
    SLOW_RANK,
    Finding,
)


def seen(finding: Finding) -> str:
    """What the recording shows."""
    return _SEEN[finding.cause](finding)


def to_do(finding: Finding) -> str:
    """What to change."""
    return _TO_DO[finding.cause](finding)


def _share(finding: Finding, name: str) -> str:
    value = float(finding.evidence.get(name, math.nan))
    return "an unknown share" if math.isnan(value) else f"{value:.0%}"


def _number(finding: Finding, name: str) -> str:
    return f"{float(finding.evidence.get(name, math.nan)):.3g}"


def _rate(finding: Finding, name: str) -> str:
    return f"{float(finding.evidence.get(name, math.nan)) / 1e9:.3g} GB/s"


def _input_seen(finding: Finding) -> str:
    busy = float(finding.evidence.get("busy_share", math.nan))
    makers = int(finding.evidence.get("n_workers", 0))
    is_own = busy > 0.5 and not finding.evidence.get("keeps_up", 0)
    how = "the training thread makes it itself" if is_own else f"other threads beside it: {makers}"
    return f"a step spends {_share(finding, 'input_share')} of its time in {finding.subject}; {how}"


def _input_to_do(finding: Finding) -> str:
    busy = float(finding.evidence.get("busy_share", math.nan))
    if busy > 0.5:
        return "load in workers beside the training thread, a batch ahead"
    needed = int(finding.evidence.get("workers_needed", -1))
    if needed == 0:
        full = f"{_number(finding, 'worker_cores')} of {_number(finding, 'n_cores')} cores"
        return f"cheaper input (prepared once and stored, compiled for vectors) or more cores: its workers keep {full} busy already"
    enough = f" ({needed} workers like these keep up, if cores and storage allow)" if needed > 0 else ""
    return f"more or faster loader workers{enough}, or input prepared once and stored"


def _pause_seen(finding: Finding) -> str:
    if finding.subject == "garbage collection":
        return f"garbage collections take {_share(finding, 'collected_share')} of a step"
    return f"{_number(finding, 'long_steps')} steps are long, one {finding.subject}"


def _pause_to_do(finding: Finding) -> str:
    if finding.subject == "garbage collection":
        return "gc.freeze() after the start, gc.disable() while steps run, or fewer objects that live from step to step"
    return "look at what runs at that distance: checkpoints, logging, an evaluation, another job on the machine"


def _scalar_seen(found: Finding) -> str:
    """The loop's numbers; of code that could not be looked at only its share."""
    taken = f"{found.subject} takes {_share(found, 'cpu_share')} of the CPU time"
    if "element_bits" not in found.evidence:
        return taken
    return (
        f"{taken}; its innermost loops compute on one number of {_number(found, 'element_bits')} bits at a time, the processor has "
        f"vectors of {_number(found, 'offered_bits')} bits"
    )


def _memory_seen(found: Finding) -> str:
    """What the phase moves and what the memory gives, measured and by the data sheet."""
    sheet = "data_sheet_bytes_per_s"
    told = f" (data sheet: at most {_rate(found, sheet)} a socket)" if sheet in found.evidence else ""
    return (
        f"{found.subject} takes {_share(found, 'phase_share')} of a step and moves its bytes at {_rate(found, 'bytes_per_s')}, "
        f"where this machine's memory gives {_rate(found, 'peak_bytes_per_s')}{told}"
    )


_SEEN: Mapping[str, Callable[[Finding], str]] = MappingProxyType(
    {
        INPUT: _input_seen,
        SLOW_RANK: lambda found: f"{found.subject} is the last in {_share(found, 'share_of_steps')} of the steps; all others wait",
        ROTATING_RANK: lambda found: f"in every step another of {_number(found, 'n_ranks')} ranks comes last, and all others wait",
        BAD_STEPS: lambda found: f"a few steps bring most of the waiting of {_number(found, 'n_ranks')} ranks for the last one",
        LOCK: lambda found: (
            f"{_number(found, 'n_threads')} threads spend {_share(found, 'waiting_share')} of their time at {found.subject}"
        ),
        MEMORY: _memory_seen,
        SCALAR: _scalar_seen,
        PAUSE: _pause_seen,
        RING: lambda found: (
            f"the ring in use is {found.evidence.get('used', '?')}; its weakest link is {found.subject}; an all-reduce over the "
            f"better ring takes {_share(found, 'allreduce_saved_share')} less"
        ),
    }
)
_TO_DO: Mapping[str, Callable[[Finding], str]] = MappingProxyType(
    {
        INPUT: _input_to_do,
        SLOW_RANK: lambda found: (
            f"look at what is different on {found.subject}: its share of the data, its processor, its neighbours"
        ),
        ROTATING_RANK: lambda _found: "balance the work of a step: samples of equal length, or batches by their cost",
        BAD_STEPS: lambda _found: "look at what happens in those steps: checkpoints, storage, another job on the machine",
        LOCK: lambda _found: "hold the lock for less, give each thread its own, or hand over whole batches",
        MEMORY: lambda _found: (
            "one pass over contiguous arrays instead of several; check that memory fills all channels and lies near the cores"
        ),
        SCALAR: lambda _found: "compile it with -O3 -march=native, or use a library that is built for this processor's vectors",
        PAUSE: _pause_to_do,
        RING: lambda found: (
            f"let devices follow as {found.evidence.get('best', '?')}: CUDA_VISIBLE_DEVICES={found.evidence.get('order', '?')}, or "
            f"ranks in that order"
        ),
    }
)
