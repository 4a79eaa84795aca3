"""The measuring protocol: rounds, a new random order in each, circumstances with each sample, budget, resume."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from mlperf.collect.protocol.clocks import Reference, load_average
from mlperf.collect.protocol.interrupts import interrupts_held
from mlperf.collect.protocol.tables import GrowingTable, Row
from mlperf.core.errors import InterruptedRun

FLUSH_EVERY_S = 60.0
MEASURED = ("sgemm", "kernels", "steps", "updates")
"""Tables that share one count of the order of measuring."""

Key = tuple[str, ...]
Done = TypeVar("Done")
Task = tuple[Any, ...]
Rows = Mapping[str, Sequence[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Visit:
    """One measurement of one configuration, or of a short block of them.

    Attributes
    ----------
    keys : tuple of tuple of str
        Key cells, as text, of the configurations it measures; the same in every table that it fills.
    measure : callable
        Returns by table name the rows, without ``round``, ``sequence``, ``load`` and ``reference_s``.
    """

    keys: tuple[Key, ...]
    measure: Callable[[], Rows]


class Plan(Protocol):
    """What is measured: one kind of campaign."""

    @property
    def tables(self) -> tuple[str, ...]:
        """Tables that its visits fill."""

    @property
    def key(self) -> tuple[str, ...]:
        """Columns that name a configuration in each of them."""

    @property
    def rounds(self) -> int:
        """Visits of each configuration."""

    @property
    def nominal_s(self) -> float:
        """What one round takes on a core of 50 GFLOP/s, roughly: to tell a person beforehand."""

    def visits(self, number: int, done: frozenset[Key], rng: np.random.Generator) -> list[Visit]:
        """All visits of round ``number`` (from 1) in random order, without the configurations in ``done``."""


class Progress(Protocol):
    """A receiver of reports on how far the campaign is."""

    def announce(self, text: str) -> None:
        """What will be measured, and how long it may take."""

    def start(self, label: str, total: int) -> None:
        """A round begins with ``total`` visits."""

    def advance(self) -> None:
        """One visit is over."""


def side_by_side(work: Callable[..., Done], tasks: Iterable[Task], n_jobs: int) -> Iterator[tuple[Task, Done]]:
    """Each task with what ``work(*task)`` returned, as they end on so many threads; an interruption calls off what is waiting."""
    with ThreadPoolExecutor(max(n_jobs, 1)) as pool:
        waiting = {pool.submit(work, *task): task for task in tasks}
        try:
            for done in as_completed(waiting):
                yield waiting[done], done.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


@dataclass(slots=True)
class Campaign:
    """A running campaign: where its rows go and what time is left.

    Parameters
    ----------
    folder : Path
        Where the tables grow.
    seed : int
        Of the order in each round.
    deadline_s : float
        On the clock of ``time.monotonic``; infinity without a budget.
    """

    folder: Path
    seed: int
    deadline_s: float
    progress: Progress
    sequence: int = 0
    flushed_s: float = 0.0
    n_taken: int = 0

    @property
    def out_of_time(self) -> bool:
        """Whether the budget is spent."""
        return time.monotonic() >= self.deadline_s

    @property
    def ends(self) -> bool:
        """Whether no further visit is made: every call makes one, however much of its budget the preparation took."""
        return self.n_taken > 0 and self.out_of_time


def run_plans(campaign: Campaign, plans: Sequence[Plan]) -> bool:
    """Visit everything in every round; round r of all plans comes before round r + 1 of any.

    Returns
    -------
    bool
        Whether all rounds are complete; False when the budget ended first.

    Raises
    ------
    InterruptedRun
        Ctrl-C: all finished visits are in the tables.
    """
    tables = {name: GrowingTable(campaign.folder, name) for plan in plans for name in plan.tables}
    done = {id(plan): finished(plan, tables) for plan in plans}
    campaign.sequence = 1 + max(last_sequence(GrowingTable(campaign.folder, name)) for name in MEASURED)
    campaign.flushed_s = time.monotonic()
    with interruptible(campaign.folder), living_left_alone():
        try:
            return run_all_rounds(campaign, plans, done, tables)
        finally:
            flush(campaign, tables.values())


@contextmanager
def living_left_alone() -> Iterator[None]:
    """What lives now lives on: within the block the collector need not look at it before every visit.

    Where the program has set objects aside itself, they stay so, within and after: nothing tells them from ours.
    """
    ours = gc.get_freeze_count() == 0
    if ours:
        gc.collect()
        gc.freeze()
    try:
        yield
    finally:
        if ours:
            gc.unfreeze()


@contextmanager
def interruptible(folder: Path, kept: str = "measurement") -> Iterator[None]:
    """Say of a Ctrl-C in the block what is kept, every finished measurement, round or run; raises InterruptedRun."""
    try:
        yield
    except KeyboardInterrupt:
        raise InterruptedRun(
            f"interrupted; every finished {kept} is in the tables",
            place=str(folder),
            hint="The same command continues where this one stopped.",
        ) from None


def run_all_rounds(
    campaign: Campaign, plans: Sequence[Plan], done: Mapping[int, Mapping[int, frozenset[Key]]], tables: Mapping[str, GrowingTable]
) -> bool:
    """Round after round; False where the budget ended first. ``done`` holds finished keys by plan (its id) and round."""
    for number in range(1, 1 + max(plan.rounds for plan in plans)):
        for plan in plans:
            if number <= plan.rounds:
                run_round(campaign, plan, number, done[id(plan)].get(number, frozenset()), tables)
            if campaign.ends:
                return False
    return True


def run_round(campaign: Campaign, plan: Plan, number: int, done: frozenset[Key], tables: Mapping[str, GrowingTable]) -> None:
    """One round of one plan, up to the end of the budget."""
    visits = plan.visits(number, done, np.random.default_rng([campaign.seed, number]))
    campaign.progress.start(f"{' and '.join(plan.tables)}, round {number} of {plan.rounds}", len(visits))
    reference = Reference()
    for visit in visits:
        if campaign.ends:
            return
        take(campaign, visit, number, reference, tables)
        campaign.progress.advance()
        if time.monotonic() - campaign.flushed_s > FLUSH_EVERY_S:
            flush(campaign, tables.values())


def take(campaign: Campaign, visit: Visit, number: int, reference: Reference, tables: Mapping[str, GrowingTable]) -> None:
    """Measure once and hand the rows to their tables; the garbage collector waits meanwhile."""
    load, reference_s = load_average(), reference.time_s()
    gc.collect()
    gc.disable()
    try:
        found = visit.measure()
    finally:
        gc.enable()
    first = campaign.sequence
    for rows in found.values():
        for offset, row in enumerate(rows):
            # Rows of one visit to a training step share their moment; a block of products lists one product after another.
            sequence = first + (offset if len(visit.keys) > 1 else 0)
            row.update(round=number, sequence=sequence, load=load, reference_s=reference_s)
    # A visit is in all of its tables or in none.
    with interrupts_held():
        for name, rows in found.items():
            tables[name].add(rows)
        campaign.sequence = first + len(visit.keys)
        campaign.n_taken += 1


def flush(campaign: Campaign, tables: Iterable[GrowingTable]) -> None:
    """Bring all tables to disk; an interrupt waits until none of them is ahead of the others."""
    with interrupts_held():
        for table in tables:
            table.flush()
    campaign.flushed_s = time.monotonic()


def finished(plan: Plan, tables: Mapping[str, GrowingTable]) -> dict[int, frozenset[Key]]:
    """Configurations that all tables of the plan hold, by round; rows of half-recorded visits are dropped."""
    rows = {name: tables[name].rows() for name in plan.tables}
    keyed = [{(int(row["round"]), key_of(plan, row)) for row in each} for each in rows.values()]
    whole = set.intersection(*keyed) if keyed else set()
    for name, each in rows.items():
        kept = [row for row in each if (int(row["round"]), key_of(plan, row)) in whole]
        if len(kept) < len(each):
            tables[name].rewrite(kept)
    by_round: dict[int, set[Key]] = {}
    for number, key in whole:
        by_round.setdefault(number, set()).add(key)
    return {number: frozenset(keys) for number, keys in by_round.items()}


def key_of(plan: Plan, row: Row) -> Key:
    """Key cells of a row."""
    return tuple(row[name] for name in plan.key)


def last_sequence(table: GrowingTable) -> int:
    """Largest sequence number on disk, -1 where there is none."""
    return max((int(row["sequence"]) for row in table.rows()), default=-1)
