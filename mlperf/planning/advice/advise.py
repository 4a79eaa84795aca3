"""Advice on a recorded run: facts, then rules, then their order, each hint with what it would bring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.shown import Shown
from mlperf.planning.advice.facts.input_pipeline import input_facts
from mlperf.planning.advice.facts.locks import lock_facts
from mlperf.planning.advice.facts.loops import loop_facts
from mlperf.planning.advice.facts.memory import memory_facts
from mlperf.planning.advice.facts.pauses import pause_facts
from mlperf.planning.advice.facts.ranks import rank_facts
from mlperf.planning.advice.facts.rings import ring_facts
from mlperf.planning.advice.findings import INCONCLUSIVE, NAMED, Finding
from mlperf.planning.advice.rules import input_rule, lock_rule, loop_rule, memory_rule, pause_rule, rank_rule, ring_rule
from mlperf.planning.advice.sentences import seen, to_do
from mlperf.planning.advice.thresholds import Thresholds
from mlperf.traces.links.topology import Links
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import RunSteps, find_steps

COLUMNS = (
    "cause",
    "verdict",
    "subject",
    "saved_s",
    "saved_lower_s",
    "saved_upper_s",
    "saved_share",
    "naive_s",
    "seen",
    "to_do",
    "follows_from",
    "why",
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Advice(Shown):
    """What to change in a recorded run.

    Attributes
    ----------
    source : str
        The recording.
    step_s : float
        Mean step, seconds.
    n_steps : int
        Steps that means are of.
    hints : DataFrame
        One row a finding, the most useful first: ``cause, verdict`` (``named`` or ``inconclusive``), ``subject``, what a mean step
        saves, ``saved_s`` with a 95 % interval ``saved_lower_s``, ``saved_upper_s`` and as ``saved_share``, ``naive_s`` (what its
        share of the time alone suggests), ``seen``, ``to_do``, ``follows_from`` (another hint's cause that explains it), ``why``.
    findings : tuple of Finding
        The same with the evidence, in the same order.
    looked_at : DataFrame
        What was looked at: ``subject, answer``.
    """

    source: str
    step_s: float
    n_steps: int
    hints: pd.DataFrame
    findings: tuple[Finding, ...]
    looked_at: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """The hints."""
        return self.hints


def advise(
    recording: Recording, steps: RunSteps | None = None, limits: Thresholds | None = None, *, links: Links | None = None
) -> Advice:
    """Say what to change, and what it would bring.

    Parameters
    ----------
    recording : Recording
    steps : RunSteps, optional
        Its steps; found where they are not given.
    limits : Thresholds, optional
    links : Links, optional
        Of the machine, for the ring.

    Raises
    ------
    DataError
        Nothing tells the steps.
    """
    steps = find_steps(recording) if steps is None else steps
    limits = limits or Thresholds()
    table = steps.settled
    step_s = table["step_s"].to_numpy(float)
    waits = input_facts(recording, steps)
    locks = lock_facts(recording, steps)
    ranks = rank_facts(recording, steps)
    memory = memory_facts(recording, steps)
    loops = loop_facts(recording, steps, limits.in_one_loop)
    pauses = pause_facts(recording, steps)
    rings = ring_facts(recording, steps, links)
    found = [
        input_rule(waits, limits),
        rank_rule(ranks, limits),
        lock_rule(locks, waits, step_s, limits),
        *(memory_rule(each, limits) for each in memory),
        *(loop_rule(each, waits, step_s, limits) for each in loops),
        pause_rule(pauses, limits),
        ring_rule(rings, limits),
    ]
    looked = {
        "input": _found("no mark names it", waits),
        "ranks": _found("one rank, or no exchange is marked", ranks),
        "locks": _found("no stack shows one", locks),
        "memory": _found("no mark carries bytes", memory),
        "vector instructions": _found("no samples of compiled functions", loops),
        "pauses": "looked at",
        "ring": _found("devices exchange over none", rings),
    }
    ordered = in_order([each for each in found if each is not None], limits)
    return Advice(
        str(recording.folder),
        float(step_s.mean()),
        len(step_s),
        _frame(ordered, limits),
        tuple(ordered),
        pd.DataFrame(looked.items(), columns=["subject", "answer"]),
    )


def in_order(findings: Sequence[Finding], limits: Thresholds) -> list[Finding]:
    """Named before inconclusive, causes before what follows from them, then by what they save."""

    def key(each: Finding) -> tuple[bool, bool, float]:
        return (each.verdict != NAMED, bool(cause_of(each, findings, limits)), -(each.gain.saved_s if each.gain else 0.0))

    return sorted(findings, key=key)


def cause_of(finding: Finding, findings: Sequence[Finding], limits: Thresholds) -> str:
    """Named cause that explains at least half of what a finding would save; empty where none does."""
    if finding.gain is None:
        return ""
    for other in findings:
        explains = finding.cause in other.explains and other.verdict == NAMED and other.gain is not None
        if explains and other.gain is not None and other.gain.saved_s >= limits.explained * finding.gain.saved_s:
            return other.cause
    return ""


def _found(nothing: str, facts: object) -> str:
    """Whether something was looked at."""
    return "looked at" if facts else nothing


def _frame(findings: Sequence[Finding], limits: Thresholds) -> pd.DataFrame:
    """One row a finding."""
    rows = []
    for each in findings:
        gain = each.gain
        numbers = (np.nan,) * 5 if gain is None else (gain.saved_s, gain.lower_s, gain.upper_s, gain.share, gain.naive_s)
        told = (seen(each), to_do(each) if each.verdict != INCONCLUSIVE else "", cause_of(each, findings, limits), each.why)
        rows.append((each.cause, each.verdict, each.subject, *numbers, *told))
    return pd.DataFrame(rows, columns=list(COLUMNS))
