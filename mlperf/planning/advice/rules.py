"""Rules: facts against thresholds, each with the gain of removing what it names."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.planning.advice.facts.input_pipeline import InputFacts
from mlperf.planning.advice.facts.locks import LockFacts
from mlperf.planning.advice.facts.loops import LoopFacts
from mlperf.planning.advice.facts.memory import MemoryFacts
from mlperf.planning.advice.facts.pauses import PauseFacts
from mlperf.planning.advice.facts.ranks import RankFacts
from mlperf.planning.advice.facts.rings import RingFacts
from mlperf.planning.advice.findings import (
    BAD_STEPS,
    INCONCLUSIVE,
    INPUT,
    LOCK,
    MEMORY,
    NAMED,
    PAUSE,
    RING,
    ROTATING_RANK,
    SCALAR,
    SLOW_RANK,
    Finding,
)
from mlperf.planning.advice.gains import Gain, gain_of, half_width_of_others
from mlperf.planning.advice.thresholds import Thresholds
from mlperf.systems.loader.equations import workers_needed
from mlperf.traces.ranks.culprits import FEW_STEPS, ROTATING, SAME

NO_LOOPS_OF_THEIRS = re.compile(r"(?:^|/)(?:lib)?python[\d.]*(?:\.so[\d.]*)?$|\[kernel|\[vdso|/ld-|/libc[.-]|/libpthread")
"""Files whose functions a user does not compile: the interpreter, the system."""

NO_LINKS = "links that carried nothing are not known: give a table of all with --links for the best ring"


def judged(
    cause: str,
    subject: str,
    gain: Gain,
    limits: Thresholds,
    n_steps: int,
    facts: Mapping[str, float | int | str],
    *,
    is_sure: bool = False,
) -> Finding | None:
    """A finding, inconclusive where the interval holds next to nothing; None where the gain is too small to speak of.

    Of a cause that is known without the steps (``is_sure``) their spread leaves open how much it costs, not whether it does.
    """
    if gain.share < limits.least_gain:
        return None
    if n_steps < limits.few_steps:
        return Finding(cause, INCONCLUSIVE, subject, gain, dict(facts), why=f"{n_steps} steps are too few")
    if gain.lower_share < limits.least_lower_gain and not is_sure:
        return Finding(cause, INCONCLUSIVE, subject, gain, dict(facts), why="steps differ too much to tell the gain from none")
    return Finding(cause, NAMED, subject, gain, dict(facts))


def input_rule(facts: InputFacts | None, limits: Thresholds) -> Finding | None:
    """Steps wait for their input."""
    if facts is None:
        return None
    share = float(facts.load_s.mean() / facts.step_s.mean())
    if share < limits.waiting_for_input:
        return None
    # What is loaded by the thread that trains takes its time there even if it is quick elsewhere: workers could take all of it.
    rest = 0.0 if facts.busy_share > 0.5 else min(facts.ready_s, float(facts.load_s.mean()))
    saved = np.maximum(facts.load_s - rest, 0.0) if rest < 0.5 * facts.load_s.mean() else facts.load_s
    told = {
        "input_share": share,
        "busy_share": facts.busy_share,
        "keeps_up": int(facts.may_keep_up),
        "n_workers": facts.n_makers,
        "worker_cores": facts.makers_cores,
        "n_cores": facts.n_cores,
        "workers_needed": workers_that_keep_up(facts, limits),
    }
    subject = ", ".join(facts.phases)
    if facts.may_keep_up:
        at_work = f"at work for {facts.makers_at_work:.0%} of their time"
        why = (
            f"its workers keep up, {at_work}: what is left is taking over what is ready"
            if facts.keeps_up
            else f"its workers may keep up, {at_work} in {facts.n_stacks} samples: record longer"
        )
        return Finding(INPUT, INCONCLUSIVE, subject, None, told, why=why)
    gain = gain_of(facts.step_s, saved, naive_s=facts.load_s)
    return judged(INPUT, subject, gain, limits, len(saved), told, is_sure=_most_steps_wait(facts, limits))


def _most_steps_wait(facts: InputFacts, limits: Thresholds) -> bool:
    """Whether makers never wait, and most steps do: the pace is the makers', whatever a few steps took."""
    return facts.makers_never_wait and float(np.median(facts.load_s / facts.step_s)) >= limits.waiting_for_input


def workers_that_keep_up(facts: InputFacts, limits: Thresholds) -> int:
    """Workers like those there are at which the mean step no longer waits.

    0 where they fill the cores already, -1 where nobody else makes the input.
    """
    if not facts.n_makers or facts.busy_share > 0.5:
        return -1
    if facts.makers_cores >= limits.full_cores * facts.n_cores:
        return 0
    step, load = float(facts.step_s.mean()), float(facts.load_s.mean())
    # While steps wait, each worker takes as long for a batch as all of them take steps meanwhile.
    return int(workers_needed(max(step - load, 1e-9), np.array(facts.n_makers * step)))


def rank_rule(facts: RankFacts | None, limits: Thresholds) -> Finding | None:
    """A rank keeps the others waiting: always the same one, one after another, or anybody in a few bad steps."""
    if facts is None:
        return None
    saved = facts.balanced_s
    if float(saved.mean() / facts.step_s.mean()) < limits.late_rank:
        return None
    who = facts.culprits
    cause = {SAME: SLOW_RANK, ROTATING: ROTATING_RANK, FEW_STEPS: BAD_STEPS}.get(who.pattern)
    told: dict[str, float | int | str] = {"pattern": who.pattern, "n_ranks": len(facts.ranks), "share_of_steps": who.share_of_steps}
    late = facts.work_s.max(axis=1) - facts.work_s.min(axis=1)
    gain = gain_of(facts.step_s, saved, naive_s=late)
    if cause is None:
        return Finding(SLOW_RANK, INCONCLUSIVE, "ranks", gain, told, why="too few steps to tell who is late")
    subject = f"rank {facts.ranks[who.leader]}" if cause == SLOW_RANK else "ranks"
    found = judged(cause, subject, gain, limits, len(saved), told)
    # What holds up one rank for a step holds up all of them.
    return _with_consequences(found, (PAUSE,)) if found is not None and cause == BAD_STEPS else found


def lock_rule(facts: LockFacts | None, waits: InputFacts | None, step_s: np.ndarray, limits: Thresholds) -> Finding | None:
    """Threads wait for one lock: on the training thread that time is saved, on others as far as the steps wait for them."""
    if facts is None or max(facts.waiting_share, facts.main_share) < limits.in_locks:
        return None
    told = {"waiting_share": facts.waiting_share, "n_threads": facts.n_threads, "n_stacks": facts.n_stacks}
    saved = facts.main_share * step_s
    if waits is not None and facts.n_threads > 1:
        # Makers that never wait make as much as all of their time allows; a step waits for them at most as long as it did.
        saved = np.maximum(saved, np.minimum(waits.load_s, waits.step_s * facts.waiting_share))
    margin = 1.0 / np.sqrt(max(facts.n_stacks, 1))
    gain = gain_of(step_s, saved, least=saved * (1 - margin), most=saved * (1 + margin), naive_s=facts.waiting_share * step_s)
    found = judged(LOCK, facts.line, gain, limits, len(step_s), told)
    return None if found is None else _with_consequences(found, (INPUT,))


def memory_rule(facts: MemoryFacts, limits: Thresholds) -> Finding | None:
    """A phase that has to move bytes moves them much slower than the memory could."""
    peak = facts.peak_one_core_bytes_per_s if np.isfinite(facts.peak_one_core_bytes_per_s) else facts.peak_bytes_per_s
    share = float(facts.phase_s.mean() / facts.step_s.mean())
    if share < limits.least_gain:
        return None
    if not facts.bytes_per_step:
        return _full_memory(facts, share, limits)
    told = {"bytes_per_s": facts.bytes_per_s, "phase_share": share, "peak_bytes_per_s": peak}
    told |= _where_known(counted_bytes_per_s=facts.counted_bytes_per_s, data_sheet_bytes_per_s=facts.data_sheet_bytes_per_s)
    if not np.isfinite(peak):
        return Finding(MEMORY, INCONCLUSIVE, facts.phase, None, told, why="nobody measured what this machine's memory gives")
    if facts.bytes_per_s >= limits.of_peak * peak:
        return None
    saved = np.maximum(facts.phase_s - facts.bytes_per_step / peak, 0.0)
    # One pass over the arrays gets between half of the peak and the peak.
    least = np.maximum(facts.phase_s - 2 * facts.bytes_per_step / peak, 0.0)
    return judged(
        MEMORY,
        facts.phase,
        gain_of(facts.step_s, (saved + least) / 2, least=least, most=saved, naive_s=facts.phase_s),
        limits,
        len(saved),
        told,
    )


def _full_memory(facts: MemoryFacts, share: float, limits: Thresholds) -> Finding | None:
    """A phase whose counted traffic is about what the memory gives."""
    peak = facts.peak_bytes_per_s
    if not facts.counted_bytes_per_s >= limits.full_memory * peak:
        return None
    told = {"bytes_per_s": facts.counted_bytes_per_s, "phase_share": share, "peak_bytes_per_s": peak}
    told |= _where_known(data_sheet_bytes_per_s=facts.data_sheet_bytes_per_s)
    why = "the memory gives no more: fewer bytes would help, and no mark says how many the phase needs"
    return Finding(MEMORY, INCONCLUSIVE, facts.phase, None, told, why=why)


def _where_known(**facts: float) -> dict[str, float]:
    """Facts that are numbers."""
    return {name: value for name, value in facts.items() if np.isfinite(value)}


def loop_rule(facts: LoopFacts, waits: InputFacts | None, step_s: np.ndarray, limits: Thresholds) -> Finding | None:
    """A hot loop computes on one number at a time on a processor that has vectors."""
    if NO_LOOPS_OF_THEIRS.search(facts.file) or facts.function.startswith("["):
        return None
    if facts.is_extra_missing:
        told = {"cpu_share": facts.share}
        return Finding(SCALAR, INCONCLUSIVE, facts.function, None, told, why=f"its code could not be looked at: {facts.why}")
    if facts.used_bits or facts.scalar_share < limits.in_one_loop:
        return None
    told = {
        "cpu_share": facts.share,
        "used_bits": facts.used_bits,
        "offered_bits": facts.offered_bits,
        "element_bits": facts.element_bits,
    }
    if not facts.offered_bits:
        return Finding(SCALAR, INCONCLUSIVE, facts.function, None, told, why="the recording does not name the processor's vectors")
    lanes = facts.offered_bits / facts.element_bits
    # Loads, conversions and remainders keep a vector loop below its lanes; two is the least that any gets.
    speedups = (max(2.0, lanes / 4), max(2.0, np.sqrt(lanes * max(2.0, lanes / 4))), lanes)
    low, middle, high = (_sped_up(facts, waits, step_s, each) for each in speedups)
    naive = facts.main_share * step_s * (1 - 1 / lanes)
    gain = gain_of(step_s, middle, least=low, most=high, naive_s=np.maximum(naive, facts.share * step_s * (1 - 1 / lanes)))
    is_sure = waits is not None and facts.other_share > facts.main_share and _most_steps_wait(waits, limits)
    found = judged(SCALAR, f"{facts.function} ({facts.file})", gain, limits, len(step_s), told, is_sure=is_sure)
    return None if found is None else _with_consequences(found, (INPUT,))


def _sped_up(facts: LoopFacts, waits: InputFacts | None, step_s: np.ndarray, speedup: float) -> np.ndarray:
    """What each step saves if one function takes that much less: on its own thread all of it, on others what steps wait for."""
    kept = 1 - 1 / speedup
    saved = facts.main_share * step_s * kept
    if waits is None or facts.other_share <= facts.main_share:
        return np.asarray(saved)
    # Makers that a step waits for are busy all the time: a batch takes them a step.
    made = waits.step_s * facts.other_share * kept
    return np.asarray(np.minimum(waits.load_s, made))


def ring_rule(facts: RingFacts | None, limits: Thresholds) -> Finding | None:
    """The ring goes through the host, or over links that a better ring would not use."""
    if facts is None or facts.rings.is_best:
        return None
    rings = facts.rings
    is_known = bool(rings.best)
    saved = rings.saved_share if is_known else 1 - rings.used_bytes_per_s / facts.direct_bytes_per_s
    is_seen = is_known or rings.detours or facts.slowest_bytes_per_s < limits.slow_link * facts.direct_bytes_per_s
    if not saved >= limits.least_gain or not is_seen:
        return None
    told: dict[str, float | int | str] = {
        "used": ", ".join(rings.used),
        "detours": ", ".join(rings.detours),
        "best": ", ".join(rings.best),
        "order": rings.order,
        "allreduce_saved_share": saved,
        "used_bytes_per_s": rings.used_bytes_per_s,
    }
    if not np.isfinite(facts.step_s).all():
        return Finding(RING, NAMED if is_known else INCONCLUSIVE, rings.weakest, None, told, why="" if is_known else NO_LINKS)
    gain = _faster_ring(facts, saved, is_known)
    if not is_known:
        return Finding(RING, INCONCLUSIVE, rings.weakest, gain, told, why=NO_LINKS)
    if not facts.comm_s.any():
        return Finding(RING, INCONCLUSIVE, rings.weakest, None, told, why="nothing tells how long steps exchange: mark it")
    return judged(RING, rings.weakest, gain, limits, len(facts.step_s), told)


def _faster_ring(facts: RingFacts, saved: float, is_known: bool) -> Gain:
    """What steps save; nothing for sure without links.

    Links of the best ring achieve what those in use do. What the exchange takes beyond the ring's bytes at its weakest link goes
    with that link; at the least it stays.
    """
    whole = facts.comm_s * saved
    if not is_known:
        return gain_of(facts.step_s, whole, least=np.zeros(len(whole)), naive_s=facts.comm_s)
    sent = np.minimum(facts.sent_s, facts.comm_s)
    low, middle, high = (sent * (1 - saved) / part for part in _achieved(facts.achieved))
    likely, most = (np.clip(facts.comm_s - each, 0.0, whole) for each in (middle, high))
    return gain_of(facts.step_s, likely, least=np.clip(sent - low, 0.0, whole), most=most, naive_s=facts.comm_s)


def _achieved(parts: FloatArray) -> tuple[float, float, float]:
    """Mean share of their bandwidth that links achieve, at most all of it, between the ends of its 95 % interval."""
    if len(parts) < 2:
        return (1.0, 1.0, 1.0)
    mean, half = float(parts.mean()), half_width_of_others(parts)
    low, middle, high = (float(np.clip(each, parts.min(), 1.0)) for each in (mean - half, mean, mean + half))
    return low, middle, high


def pause_rule(facts: PauseFacts, limits: Thresholds) -> Finding | None:
    """Collections, or long steps at regular distances, that nothing else explains."""
    collected = float(facts.collected_s.mean() / facts.step_s.mean())
    told = {"long_steps": facts.long_steps, "period_steps": facts.period_steps, "collected_share": collected}
    if collected >= limits.least_gain:
        gain = gain_of(facts.step_s, np.minimum(facts.collected_s, facts.step_s), naive_s=facts.collected_s)
        return judged(PAUSE, "garbage collection", gain, limits, len(facts.step_s), told)
    if not np.isfinite(facts.period_steps):
        return None
    gain = gain_of(facts.step_s, facts.excess_s, naive_s=facts.excess_s)
    return judged(PAUSE, f"every {facts.period_steps:g} steps", gain, limits, len(facts.step_s), told)


def _with_consequences(found: Finding, explains: tuple[str, ...]) -> Finding:
    """The finding with what follows from it."""
    return Finding(found.cause, found.verdict, found.subject, found.gain, found.evidence, explains, found.why)
