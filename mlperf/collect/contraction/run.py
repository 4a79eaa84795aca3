"""One call that generates, compiles, checks and measures contractions: `collect_contractions`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mlperf.collect.contraction.builds import find_compilers, find_program
from mlperf.collect.contraction.cachegrind import simulate_units
from mlperf.collect.contraction.checks import expected_checksums
from mlperf.collect.contraction.compiling import compile_units, remove_programs
from mlperf.collect.contraction.record import begin_record, end_record
from mlperf.collect.contraction.request import ContractionRequest, check_request, chosen_patterns
from mlperf.collect.contraction.rounds import Visitor, run_rounds
from mlperf.collect.contraction.summary import CollectedContractions, summarise_contractions, write_times
from mlperf.collect.contraction.units import Unit
from mlperf.collect.protocol.clocks import one_computing_thread, require_clocks
from mlperf.collect.protocol.protocol import Campaign, interruptible
from mlperf.collect.protocol.tables import GrowingTable
from mlperf.core.progress import shown_progress
from mlperf.datasets.dictionary.contraction_schema import CONTRACTION_TABLES


def collect_contractions(request: ContractionRequest, *, show_progress: bool = False) -> CollectedContractions:
    """Generate kernels, compile them with every build, check each against einsum and time them in rounds.

    Adds to what the folder holds: an interrupted campaign is continued; more rounds, sizes, builds and patterns are added.

    Parameters
    ----------
    request : ContractionRequest
        What to measure.
    show_progress : bool
        Whether a bar with the remaining time is drawn on stderr.

    Returns
    -------
    CollectedContractions
        Kernels, rounds, times and noise of every build and size in the folder.

    Raises
    ------
    MissingExtraError
        A compiler or valgrind is not installed, or this system lacks the clocks; names the package.
    UsageError
        No such pattern, a compiler refuses an option, or a folder that another machine, seed or family began.
    DataError
        A kernel computes something else than einsum, or crashes; names it.
    InterruptedRun
        Ctrl-C; what is finished is in the tables.
    """
    deadline_s = time.monotonic() + (float("inf") if request.budget_s is None else request.budget_s)
    check_request(request)
    require_clocks()
    request = replace(request, builds=tuple(find_compilers(request.builds)))
    if request.simulation is not None:
        find_program("valgrind")
    patterns = chosen_patterns(request)
    units = make_units(request, patterns)
    record = begin_record(request, request.builds, len(patterns))
    with one_computing_thread(), shown_progress(show_progress) as progress, interruptible(request.out):
        return measured(request, units, record, Campaign(request.out, request.seed, deadline_s, progress))


def make_units(request: ContractionRequest, patterns: Sequence[str]) -> list[Unit]:
    """One unit for each build, size and alignment."""
    return [
        Unit(request.out, build, n, offset, request.rule.indices, tuple(patterns))
        for n in request.sizes
        for offset in request.offsets
        for build in request.builds
    ]


def measured(
    request: ContractionRequest, units: Sequence[Unit], record: dict[str, Any], campaign: Campaign
) -> CollectedContractions:
    """Compile, check, time, simulate; what is finished is summed up however this ends."""
    folder, progress = request.out, campaign.progress
    compile_units(units, request.n_jobs, progress)
    visitor = prepared(request, units, campaign)
    complete = False
    try:
        complete = run_rounds(visitor, units, request.rounds)
        if request.simulation is not None and complete:
            simulate_units(folder, units, request.simulation, request.n_jobs, progress)
    finally:
        record = end_record(folder, record, visitor.chain_hz)
        times = write_times(folder, record)
    if complete and request.rounds and not request.keep:
        remove_programs(units)
    n_compiled = sum(len(unit.patterns) for unit in units)
    return summarise_contractions(folder, times, record["clock"]["source"], n_compiled, complete=complete)


def prepared(request: ContractionRequest, units: Sequence[Unit], campaign: Campaign) -> Visitor:
    """Everything that a visit needs."""
    expected = expected_checksums(
        request.out, units[0].patterns, request.rule.indices, request.sizes, request.n_jobs, campaign.progress
    )
    return Visitor(campaign, GrowingTable(request.out, "rounds", CONTRACTION_TABLES), expected, request.least_s)
