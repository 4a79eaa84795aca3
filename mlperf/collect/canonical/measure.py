"""One call that measures the canonical loops of this machine into a table: `collect_canonical`."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mlperf.collect.canonical.build import check_code
from mlperf.collect.canonical.cases import ASPECTS, Call, Case, call_of, canonical_cases, held_bytes
from mlperf.collect.canonical.flags import canonical_flags
from mlperf.collect.canonical.interference import together_s
from mlperf.collect.canonical.summary import MeasuredConstants
from mlperf.collect.canonical.timing import BLOCK_S, WARM_CALLS, block_s, row_of
from mlperf.collect.protocol.clocks import Reference, load_average, one_computing_thread, require_clocks
from mlperf.collect.protocol.host import FILE_NAME, cache_bytes, check_same, host_record, write_host
from mlperf.collect.protocol.protocol import interruptible
from mlperf.collect.protocol.rules import link, refuse_broken
from mlperf.collect.protocol.tables import GrowingTable
from mlperf.core.errors import UsageError
from mlperf.core.places import make_folder, take_path
from mlperf.core.progress import Bar, Silent, shown_progress
from mlperf.datasets.dictionary.server_schema import CANONICAL, SERVER_TABLES
from mlperf.datasets.reading.read import read_table

PLACE = "mlperf collect canonical"
ROUNDS, QUICK_ROUNDS = 10, 3
CACHED_BYTES = 256 * 1024
PER_CASE_S = 4.0 * BLOCK_S
"""About what a visit takes: set-up, warm-up and a block."""

PER_BYTE_S = 1.5e-9
"""What a visit of a large working set takes longer: it is made anew and read some times."""


@dataclass(frozen=True, slots=True)
class CanonicalRequest:
    """What to measure.

    Attributes
    ----------
    out : Path or str
        Folder; gets ``canonical.csv`` and ``host.json``. The same request goes on where an earlier one stopped.
    rounds : int or None
        Visits of every case, each in a new random order; None: 10, or 3 if ``quick``.
    quick : bool
        Every other size, up to the largest cache only.
    most_threads : int or None
        Processes at once, for C_interf(H); None: every core that may be used.
    seed : int
        Of the order.
    code : str
        ``blas``: products by BLAS, one sample at a time; ``scalar``: loops compiled by numba. A folder holds one of them.
    """

    out: Path
    rounds: int | None = None
    quick: bool = False
    most_threads: int | None = None
    seed: int = 0
    code: str = "blas"

    def __post_init__(self) -> None:
        take_path(self)

    @property
    def n_rounds(self) -> int:
        """Visits of every case."""
        return self.rounds or (QUICK_ROUNDS if self.quick else ROUNDS)


def collect_canonical(request: CanonicalRequest, *, show_progress: bool = False) -> MeasuredConstants:
    """Measure C_muladd(working set), C_act, C_err, C_interf(H) and C_add of this machine by the trainer's own loops.

    Parameters
    ----------
    request : CanonicalRequest
        What to measure.
    show_progress : bool
        Whether a bar with the remaining time is drawn on stderr.

    Returns
    -------
    MeasuredConstants
        Where the table is, and what looks wrong in it.

    Raises
    ------
    UsageError
        More processes than cores, or the folder was begun on another machine.
    MissingExtraError
        No Linux.
    InterruptedRun
        Ctrl-C: finished rounds are in the table.

    References
    ----------
    Yan, Ruwase, He, Chilimbi (KDD 2015), section 4.1 and figure 5.
    """
    require_clocks()
    check_code(request.code)
    n_cores = len(os.sched_getaffinity(0))
    most = request.most_threads or n_cores
    if most > n_cores:
        raise UsageError(f"got {most} threads, expected at most {n_cores}: each needs a core of its own", place=PLACE)
    make_folder(request.out, above=True)
    check_same_code(request)
    record = host_record({"seed": request.seed, "canonical": protocol(request)}, {})
    check_same(request.out / FILE_NAME, record, ("canonical",))
    write_host(request.out / FILE_NAME, record)
    begun_s, cases = time.monotonic(), canonical_cases(request.code, quick=request.quick)
    with interruptible(request.out, "round"), shown_progress(show_progress) as progress:
        measure_alone(request, cases, progress)
        measure_together(request, most, progress)
    rows = read_table(request.out / "canonical.csv", CANONICAL, "keep")
    return MeasuredConstants(
        str(request.out), "canonical", len(rows), len(rows.groupby(list(CANONICAL.key))), time.monotonic() - begun_s,
        canonical_flags(rows),
    )  # fmt: skip


def check_same_code(request: CanonicalRequest) -> None:
    """Refuse to mix two codes in one table.

    Raises
    ------
    UsageError
        Names both.
    """
    before = {row["code"] for row in GrowingTable(request.out, "canonical", SERVER_TABLES).rows()} - {request.code}
    if before:
        got = f"got code {request.code}, expected {before.pop()} as in the folder's first rounds"
        raise UsageError(got, place=str(request.out), hint="Name another folder.")


def check_network_given(folder: Path, latency_s: float | None, bytes_per_s: float | None, *, wanted: bool) -> None:
    """Refuse constants without a network, and a network that no constants want, before minutes are measured.

    Parameters
    ----------
    folder : Path
        Where ``network.csv`` would lie.
    latency_s, bytes_per_s : float or None
        As they were given.
    wanted : bool
        Whether constants are to be written.

    Raises
    ------
    UsageError
        Says what is missing or wrong.
    """
    given = [each for each in (latency_s, bytes_per_s) if each is not None]
    if given and not wanted:
        raise UsageError("got --latency or --bandwidth without --constants, where they are written", place=PLACE)
    if latency_s is not None and bytes_per_s is not None:
        refuse_broken([link(bytes_per_s, latency_s)], PLACE)
    elif given or (wanted and not (folder / "network.csv").exists()):
        got = "one of --latency and --bandwidth" if given else f"neither --latency and --bandwidth nor {folder / 'network.csv'}"
        hint = "mlperf collect network measures the table."
        raise UsageError(f"got {got}, expected both numbers or the table", place=PLACE, hint=hint)


def protocol(request: CanonicalRequest) -> dict[str, object]:
    """What host.json says of how it was measured."""
    return {
        "clock": "thread CPU time, mean over a block of calls",
        "block_s": BLOCK_S,
        "warm_calls": WARM_CALLS,
        "code": f"{request.code}, one sample a call",
        "rounds": request.n_rounds,
        "quick": request.quick,
    }


def measure_alone(request: CanonicalRequest, cases: Sequence[Case], progress: Bar | Silent) -> None:
    """Every case once a round, in random order; finished rounds are kept."""
    table = GrowingTable(request.out, "canonical", SERVER_TABLES)
    known = [row for row in table.rows() if row["n_threads"] == "1"]
    done = max((int(row["round"]) for row in known), default=0)
    sequence = len(known)
    todo = range(done + 1, request.n_rounds + 1)
    progress.announce(f"{len(cases)} loops, {len(todo)} rounds: about {len(todo) * round_s(cases):.0f} s")
    progress.start("canonical", len(todo) * len(cases))
    with one_computing_thread():
        reference = Reference()
        for number in todo:
            sample = {"round": number, "load": load_average(), "reference_s": reference.time_s()}
            for index in np.random.default_rng((request.seed, number)).permutation(len(cases)).tolist():
                sequence += 1
                call: Call = call_of(cases[index])
                table.add([row_of(cases[index], call, block_s(call.run), 1, {**sample, "sequence": sequence})])
                progress.advance()
            table.flush()


def round_s(cases: Sequence[Case]) -> float:
    """About what one visit of every case takes, seconds."""
    return sum(PER_CASE_S + PER_BYTE_S * held_bytes(case) for case in cases)


def measure_together(request: CanonicalRequest, most: int, progress: Bar | Silent) -> None:
    """The same segments by H = 1 .. ``most`` processes at once: one whose weights stay in the cache, one whose do not."""
    table = GrowingTable(request.out, "canonical", SERVER_TABLES)
    known = table.rows()
    counts = [count for count in range(2, most + 1) if not any(int(row["n_threads"]) == count for row in known)]
    cases = interference_cases(request.code)
    calls = [call_of(case) for case in cases]
    progress.start("processes at once", len(counts))
    for count in counts:
        sample = {"round": 1, "sequence": len(known) + count, "load": load_average(), "reference_s": 0.0}
        # Side by side with one process, minutes after the rounds above: the machine's speed drifts.
        for n_threads in (1, count):
            times_s = [statistics.median(blocks) for blocks in together_s(cases, n_threads)]
            sample = {**sample, "round": 0 if n_threads == 1 else 1}
            measured = zip(cases, calls, times_s, strict=True)
            table.add([row_of(case, call, time_s, n_threads, sample) for case, call, time_s in measured])
        table.flush()
        progress.advance()


def interference_cases(code: str) -> tuple[Case, ...]:
    """Square fully connected segments in the cache and twice as large as it, forward and update."""
    largest = max(cache_bytes().values(), default=32 * 2**20)
    sides = [round((size / 4 * ASPECTS[1]) ** 0.5) for size in (CACHED_BYTES, 2 * largest)]
    return tuple(Case("fc", direction, (side, side), code) for side in sides for direction in ("forward", "update"))
