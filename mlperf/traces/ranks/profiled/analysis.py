"""Training ranks judged: who is late, what collective operations cost, what changes would bring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.shown import Shown
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.ranks.culprits import culprits
from mlperf.traces.ranks.profiled.arrivals import arrivals, lateness
from mlperf.traces.ranks.profiled.edits import BALANCED, FASTER, ON_TIME, changed_weights
from mlperf.traces.ranks.profiled.graph import RankGraph, build_graph
from mlperf.traces.timeline.windows import marked_steps

LEVEL = 0.95
N_KERNELS = 10
NS = 1e-9


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TrainingRanks(Shown, frame="ranks"):
    """Ranks of a training job as their profilers saw them.

    Attributes
    ----------
    source : str
    n_ranks, n_steps, n_operations : int
        Ranks and steps recorded, collective operations.
    step_s : float
        Mean time of a step, from the end of the one before on the last rank to its own, seconds.
    straggler : int
        The rank that comes last most often; -1 for none.
    pattern : str
        ``always the same``, ``rotating``, ``a few bad steps``, ``too few steps to tell`` or ``nobody``.
    share_of_steps : float
        Share of the steps in which it is the last.
    ranks : DataFrame
        One row a rank: ``rank, late_s`` (behind the first, summed over a step's operations, mean over steps), ``collective_s``
        (time in them), ``kernel_s``, ``n_kernels``, ``last_share`` (share of the steps in which it is the latest).
    operations : DataFrame
        As `Arrivals.operations`.
    what_ifs : DataFrame
        One row an assumption: ``assumption, step_s`` (mean), ``saved_s`` (a step), ``saved_lower_s, saved_upper_s`` (95 % interval
        of the mean over the steps; NaN with one step), ``verdict``.
    kernels : DataFrame
        Kernels by name: ``kernel, n_kernels, time_s`` of all ranks.
    replay_error_s : float
        Largest difference between the recorded times and those of the replay without any change; 0 by construction.
    notes : tuple of str
    """

    source: str
    n_ranks: int
    n_steps: int
    n_operations: int
    step_s: float
    straggler: int
    pattern: str
    share_of_steps: float
    ranks: pd.DataFrame
    operations: pd.DataFrame
    what_ifs: pd.DataFrame
    kernels: pd.DataFrame
    replay_error_s: float
    notes: tuple[str, ...]


def analyse_ranks(table: EventTable, assume: Sequence[str] = (), marker: str | None = None) -> TrainingRanks:
    """Judge the ranks of a trace.

    Parameters
    ----------
    table : EventTable
        One clock; `mlperf.traces.clocks.align` puts ranks on one.
    assume : sequence of str
        Assumptions as in `changed_weights`, beside those that are always tried.
    marker : str, optional
        Names of steps, as in `marked_steps`.

    Raises
    ------
    DataError
        There are no kernels.
    UsageError
        An assumption is none.
    """
    graph = build_graph(table)
    step, steps = steps_of(graph, marker)
    begin, end = graph.times()
    recorded = table.end_ns[graph.rows] - graph.origin_ns
    found = arrivals(graph, step)
    ranks = [program.rank for program in graph.programs]
    late = lateness(found, ranks, steps)
    judged = culprits(late)
    base = step_times(begin, end, step, len(steps))
    tried = _default_assumptions(graph, ranks, judged.leader)
    what_ifs = _what_ifs(graph, [*tried, *(each for each in assume if each not in tried)], step, base)
    return TrainingRanks(
        source=_source(table),
        n_ranks=len(ranks),
        n_steps=len(steps),
        n_operations=len(found.operations),
        step_s=float(base.mean()),
        straggler=ranks[judged.leader] if judged.leader >= 0 else -1,
        pattern=judged.pattern,
        share_of_steps=judged.share_of_steps,
        ranks=_ranks(graph, ranks, late, judged.shares, len(steps)),
        operations=found.operations,
        what_ifs=what_ifs,
        kernels=_kernels(table),
        replay_error_s=float(np.abs(end - recorded).max(initial=0)) * NS,
        notes=(*table.notes, *_notes(graph, steps)),
    )


def steps_of(graph: RankGraph, marker: str | None) -> tuple[IntArray, list[int]]:
    """Step of every item, from 0 (an activity's is that of its launch; -1 before the first), and the numbers of the steps."""
    step = np.full(len(graph.rows), -1, dtype=np.int64)
    n_steps, first = 0, 0
    for program in graph.programs:
        windows = marked_steps(graph.table, program.rank, marker, on_host=True)
        n_calls, n_items = len(program.calls), len(program.calls) + len(program.activities)
        if windows is None:
            step[first : first + n_items] = 0
            n_steps = max(n_steps, 1)
        else:
            when = graph.table.start_ns[graph.rows[first : first + n_items]].copy()
            launched = program.launch >= 0
            when[n_calls:][launched] = graph.table.start_ns[program.calls[program.launch[launched]]]
            step[first : first + n_items] = np.searchsorted(windows.start_ns, when, "right") - 1
            n_steps = max(n_steps, len(windows))
        first += n_items
    return step, list(range(n_steps))


def step_times(begin: IntArray, end: IntArray, step: IntArray, n_steps: int) -> FloatArray:
    """Time of each step, seconds, shape (n_steps,): from the last end of the one before to its own, on whatever rank."""
    last = np.zeros(n_steps + 1)
    for number in range(n_steps):
        inside = step == number
        last[number + 1] = end[inside].max() if inside.any() else last[number]
    before = step < 0
    last[0] = end[before].max() if before.any() else begin.min(initial=0)
    return np.diff(np.maximum.accumulate(last)) * NS


def _default_assumptions(graph: RankGraph, ranks: list[int], leader: int) -> list[str]:
    """What is always tried where there are operations of several ranks."""
    if len(ranks) < 2 or not (graph.operation >= 0).any():
        return []
    on_time = [f"{ON_TIME}={ranks[leader]}"] if leader >= 0 else []
    return [*on_time, BALANCED, f"{FASTER}=2"]


def _what_ifs(graph: RankGraph, assumptions: Sequence[str], step: IntArray, base: FloatArray) -> pd.DataFrame:
    """Replay under each assumption."""
    rows = []
    for assumption in assumptions:
        begin, end = graph.times(changed_weights(graph, assumption))
        times = step_times(begin, end, step, len(base))
        saved = base - times
        lower, upper = interval(saved)
        verdict = "saves" if lower > 0 else "costs" if upper < 0 else "no difference" if lower == upper else "inconclusive"
        rows.append((assumption, times.mean(), saved.mean(), lower, upper, verdict))
    columns = ["assumption", "step_s", "saved_s", "saved_lower_s", "saved_upper_s", "verdict"]
    return pd.DataFrame(rows, columns=columns)


def interval(values: FloatArray) -> tuple[float, float]:
    """95 % interval of a mean over steps by Student's t; NaN with one step."""
    from scipy.stats import t

    if len(values) < 2:
        return float("nan"), float("nan")
    half = float(t.ppf(0.5 + LEVEL / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return float(values.mean() - half), float(values.mean() + half)


def _ranks(graph: RankGraph, ranks: list[int], late: FloatArray, shares: FloatArray, n_steps: int) -> pd.DataFrame:
    """One row a rank."""
    table = graph.table
    rows = []
    for place, rank in enumerate(ranks):
        own = table.rank == rank
        collective = own & (table.kind == Kind.COLL) & (table.device >= 0)
        kernel = own & (table.kind == Kind.KERNEL)
        times = [float(table.duration_ns[each].sum()) * NS / n_steps for each in (collective, kernel)]
        rows.append((rank, float(late[:, place].mean()), *times, int(kernel.sum()), float(shares[place])))
    return pd.DataFrame(rows, columns=["rank", "late_s", "collective_s", "kernel_s", "n_kernels", "last_share"])


def _kernels(table: EventTable) -> pd.DataFrame:
    """The kernels that take most."""
    kernels = table.take(table.kind == Kind.KERNEL)
    frame = pd.DataFrame({"name": kernels.name, "time_s": kernels.duration_ns * NS})
    found = frame.groupby("name")["time_s"].agg(["size", "sum"]).sort_values("sum", ascending=False, kind="stable").head(N_KERNELS)
    found = found.reset_index()
    found["name"] = table.text(found["name"].to_numpy())
    return found.set_axis(["kernel", "n_kernels", "time_s"], axis=1)


def _notes(graph: RankGraph, steps: list[int]) -> list[str]:
    """What was assumed."""
    found = []
    n_inferred = sum(program.n_inferred for program in graph.programs)
    if n_inferred:
        found.append(
            f"{n_inferred} orders between streams are inferred from times: the trace names no events that streams wait for"
        )
    if graph.n_torn:
        found.append(f"{graph.n_torn} collective operations end on one rank before they begin on another: they are left apart")
    if len(steps) < 2:
        found.append("one step: what-ifs have no interval, and nobody can tell whether the last rank is always the same")
    return found


def _source(table: EventTable) -> str:
    """The files, shortly."""
    first = table.sources[0] if table.sources else "a table"
    return first if len(table.sources) < 2 else f"{first} and {len(table.sources) - 1} more"
