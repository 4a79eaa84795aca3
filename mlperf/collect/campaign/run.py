"""One call that measures this machine: `collect`."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlperf.collect.backends.backends import BACKENDS, Backend, check_backend
from mlperf.collect.campaign.device_updates import DEVICE_OPERATIONS
from mlperf.collect.campaign.machine import store_machine
from mlperf.collect.campaign.sgemm import STEPS, VALIDATION_SHARE, SgemmPlan, expected_time_s, grid_points, validation_points
from mlperf.collect.campaign.steps import StepPlan
from mlperf.collect.campaign.updates import UpdatePlan, image_folder
from mlperf.collect.protocol.clocks import REFERENCE_SIZE, Reference, one_computing_thread, require_clocks
from mlperf.collect.protocol.host import FILE_NAME, check_same, host_record, write_host
from mlperf.collect.protocol.protocol import Campaign, Plan, run_plans
from mlperf.collect.protocol.summary import Collected, summarise
from mlperf.core.errors import UsageError
from mlperf.core.places import make_folder, take_path
from mlperf.core.progress import shown_progress
from mlperf.datasets.dictionary.schema import TABLES
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.cnn_toml import read_cnn, write_cnn

KINDS = ("sgemm", "kernels", "steps", "updates")
ROUNDS: Mapping[str, int] = {"sgemm": 5, "kernels": 10, "steps": 10, "updates": 10}
"""Rounds of each kind where none are asked for."""

SUBBATCH_SIZES = (1, 2, 4, 8)
MEMORY_SHARE = 0.6
NOMINAL_REFERENCE_S = expected_time_s(REFERENCE_SIZE, REFERENCE_SIZE, REFERENCE_SIZE)
LONGEST_NAME = 240
"""Bytes of a network's name: with its ending it must be one of a file."""


@dataclass(frozen=True, slots=True)
class CollectRequest:
    """What to measure.

    Attributes
    ----------
    kinds : tuple of str
        Some of ``sgemm``, ``kernels``, ``steps``, ``updates``; kernels and steps share their visits.
    out : Path or str
        The campaign's folder.
    cnns : tuple of CnnSpec
        Networks for kernels and steps.
    subbatch_sizes : tuple of int
        Samples in a step.
    rounds : int or None
        Visits of each configuration; None takes `ROUNDS`.
    seed : int
        Of the order in each round.
    budget_s : float or None
        Wall time after which the campaign stops between two visits.
    max_macs : float or None
        Configurations with more forward multiply-accumulates a step are left out, and named in host.json.
    step : {"half", "full"}
        Distance of the nodes of the SGEMM grid, as a power of two.
    backend : {"numpy", "torch", "cuda"}
        What runs products and training steps; ``cuda`` also takes the copies of ``updates`` to the device.
    """

    kinds: tuple[str, ...]
    out: Path
    cnns: tuple[CnnSpec, ...] = ()
    subbatch_sizes: tuple[int, ...] = SUBBATCH_SIZES
    rounds: int | None = None
    seed: int = 0
    budget_s: float | None = None
    max_macs: float | None = None
    step: str = "half"
    backend: str = "numpy"

    def __post_init__(self) -> None:
        take_path(self)


def collect(request: CollectRequest, *, show_progress: bool = False) -> Collected:
    """Measure this machine now, into the tables of a campaign folder.

    Adds to what the folder holds: an interrupted campaign is continued, more rounds are appended.

    Parameters
    ----------
    request : CollectRequest
        What to measure.
    show_progress : bool
        Whether a bar with the remaining time is drawn on stderr.

    Returns
    -------
    Collected
        Rows, rounds and drift of every table, and how far halves of its rounds differ.

    Raises
    ------
    MissingExtraError
        This system lacks the clocks that the protocol needs, or torch is not installed.
    UsageError
        Unknown kind or backend, no networks or none that fits, no CUDA device, or a folder that another host, version, seed or
        device began.
    InterruptedRun
        Ctrl-C; what is finished is in the tables.
    """
    started_s = time.monotonic()
    check(request)
    require_clocks()
    out = request.out
    with ExitStack() as stack:
        # The backend first: the limit of one thread reaches only libraries that are loaded.
        backend = stack.enter_context(BACKENDS[request.backend]())
        stack.enter_context(one_computing_thread())
        configurations, left_out = _configurations_of(request, backend)
        record = host_record(protocol(request, backend, left_out), backend.device)
        check_same(out / FILE_NAME, record, TABLES)
        store_cnns(out / "cnns", request.cnns)
        write_host(out / FILE_NAME, record)
        store_machine(out, backend)
        plans = make_plans(request, backend, configurations, stack)
        progress = stack.enter_context(shown_progress(show_progress))
        progress.announce(announcement(plans, request, backend))
        deadline_s = started_s + (float("inf") if request.budget_s is None else request.budget_s)
        complete = run_plans(Campaign(out, request.seed, deadline_s, progress), plans)
    return summarise(out, [table for plan in plans for table in plan.tables], left_out, complete=complete)


def announcement(plans: Sequence[Plan], request: CollectRequest, backend: Backend) -> str:
    """What is planned and how long it takes: on a device nobody can say beforehand."""
    parts = [f"{' and '.join(plan.tables)}: {plan.rounds} rounds" for plan in plans]
    reference = Reference()
    reference.time_s()
    expected_s = sum(plan.rounds * plan.nominal_s for plan in plans) * reference.time_s() / NOMINAL_REFERENCE_S
    if request.budget_s is not None and request.budget_s < expected_s:
        ends = f"stops after {seconds_text(request.budget_s)} of about {seconds_text(expected_s)}"
    else:
        ends = f"about {seconds_text(expected_s)}, and less where a part is done"
    known = "" if backend.on_device is not None else f"; {ends}"
    return f"{'; '.join(parts)}{known}. Ctrl-C keeps what is finished; the same command continues."


def seconds_text(seconds: float) -> str:
    """``"40 s"``, ``"12 min"``, ``"1.5 h"``."""
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 90.0 * 60.0 else f"{seconds / 3600.0:.1f} h"


def check(request: CollectRequest) -> None:
    """Refuse what cannot be measured before anything is written."""
    unknown = [kind for kind in request.kinds if kind not in KINDS]
    if unknown or not request.kinds:
        raise UsageError(f"got kinds {', '.join(request.kinds) or 'none'}, expected some of {', '.join(KINDS)}")
    if request.step not in STEPS:
        raise UsageError(f"got step {request.step!r}, expected one of {', '.join(STEPS)}")
    check_backend(request.backend)
    if step_tables(request.kinds) and not request.cnns:
        raise UsageError(
            "got no networks to measure", place="mlperf collect", hint="Add --generate 40 or --cnn FILE; --cnn may be repeated."
        )
    names = [cnn.name for cnn in request.cnns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"got two networks called {', '.join(twice)}, expected unique names", place="mlperf collect")


def step_tables(kinds: Sequence[str]) -> tuple[str, ...]:
    """Tables that a visit to a training step fills."""
    return tuple(kind for kind in ("kernels", "steps") if kind in kinds)


def make_plans(
    request: CollectRequest, backend: Backend, configurations: Sequence[tuple[CnnSpec, int]], stack: ExitStack
) -> list[Plan]:
    """The plans of the kinds asked for, in the order in which each round runs them."""
    plans: list[Plan] = []
    if configurations:
        plans.append(StepPlan(backend, configurations, request.rounds or ROUNDS["steps"], step_tables(request.kinds)))
    if "sgemm" in request.kinds:
        grid = grid_points(STEPS[request.step])
        between = validation_points(round(VALIDATION_SHARE * len(grid)), request.seed)
        plans.append(SgemmPlan(backend, [*grid, *between], request.rounds or ROUNDS["sgemm"]))
    if "updates" in request.kinds:
        plans.append(UpdatePlan(backend, request.rounds or ROUNDS["updates"], stack.enter_context(image_folder())))
    return plans


def _configurations_of(request: CollectRequest, backend: Backend) -> tuple[list[tuple[CnnSpec, int]], list[str]]:
    """What kernels and steps measure, and what they leave out; nothing where neither is asked for."""
    if not step_tables(request.kinds):
        return [], []
    inside, outside = fitting(request, backend)
    if not inside:
        raise UsageError(
            f"got {len(outside)} configurations, none of which can be measured: {outside[0]}",
            place="mlperf collect",
            hint="Raise --max-macs, lower --subbatch, or name smaller networks.",
        )
    return inside, outside


def fitting(request: CollectRequest, backend: Backend) -> tuple[list[tuple[CnnSpec, int]], list[str]]:
    """Configurations that fit into memory and the limit of work, and a sentence on each that does not."""
    inside, outside = [], []
    for cnn in request.cnns:
        for subbatch_size in request.subbatch_sizes:
            reason = backend.refusal(cnn, subbatch_size) or _too_large(cnn, subbatch_size, backend, request.max_macs)
            if reason:
                outside.append(f"{cnn.name} at {subbatch_size}: {reason}")
            else:
                inside.append((cnn, subbatch_size))
    return inside, outside


def _too_large(cnn: CnnSpec, subbatch_size: int, backend: Backend, max_macs: float | None) -> str:
    needed, most = backend.step_bytes(cnn, subbatch_size), MEMORY_SHARE * backend.memory_bytes
    if needed > most:
        return f"needs about {needed / 2**30:.1f} GiB of {most / 2**30:.1f}"
    n_macs = cnn.n_macs * subbatch_size
    if max_macs is not None and n_macs > max_macs:
        return f"{n_macs:.3g} multiply-accumulates forward, limit {max_macs:.3g}"
    return ""


def store_cnns(folder: Path, cnns: Sequence[CnnSpec]) -> None:
    """Write each specification into a folder of the campaign's; one of the same name must be the same network.

    Raises
    ------
    UsageError
        The folder holds another network of that name, or the name cannot be that of a file; nothing is written then.
    """
    for cnn in cnns:
        if set(cnn.name) & set("/\\\0") or cnn.name.startswith(".") or len(os.fsencode(cnn.name)) > LONGEST_NAME:
            hint = "Its specification becomes cnns/NAME.toml: use a short name without / and without a dot in front."
            raise UsageError(f"got a network called {cnn.name!r}, expected the name of a file", place="network", hint=hint)
    make_folder(folder.parent)
    if cnns:
        make_folder(folder)
    for cnn in cnns:
        path = folder / f"{cnn.name}.toml"
        if not path.exists():
            write_cnn(cnn, path)
        elif read_cnn(path) != cnn:
            raise UsageError(f"got another network called {cnn.name!r}", place=str(path), hint="Rename one of the two.")


def protocol(request: CollectRequest, backend: Backend, left_out: Sequence[str]) -> dict[str, Any]:
    """What host.json says of how it was measured."""
    said: dict[str, Any] = {
        "seed": request.seed,
        "clock": backend.clock,
        "blas_threads": 1,
        "order": "random, anew in each round",
        "aggregation": "median over rounds",
        "visit": "median over 3 to 15 steps after 2 unmeasured ones; above 0.5 s one step after one",
        "reference": "in-cache SGEMM 384 x 384 x 384, CPU time",
    }
    if step_tables(request.kinds):
        said |= {"subbatch_sizes": list(request.subbatch_sizes), "backend": request.backend, "left_out": list(left_out)}
    if "sgemm" in request.kinds:
        said |= {"sgemm_step": request.step, "sgemm_state": "isolated, cache-hot; short products repeated for 40 us"}
        said |= {"sgemm_backend": request.backend}
    if "updates" in request.kinds:
        said |= {"updates_on_device": sorted(DEVICE_OPERATIONS) if backend.on_device else []}
    return said
