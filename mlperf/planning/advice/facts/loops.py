"""Whether the hottest compiled functions use the processor's vector instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mlperf.core.errors import MissingExtraError, MlperfError
from mlperf.features.code.counts import FunctionCounts, Tally
from mlperf.planning.advice.facts.input_pipeline import within_steps
from mlperf.planning.advice.facts.locks import step_threads
from mlperf.traces.events.kinds import Kind
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import RunSteps

WIDTHS = (("avx512f", 512), ("avx2", 256), ("avx", 256), ("sse2", 128), ("asimd", 128), ("neon", 128))
"""Vector bits by the processor's word for them, the widest first."""
N_FUNCTIONS = 5


@dataclass(frozen=True, slots=True, eq=False)
class LoopFacts:
    """One compiled function that much of the CPU time is spent in.

    Attributes
    ----------
    function, file : str
    share : float
        Of the CPU time within steps.
    main_share : float
        Of the CPU time of the threads that mark steps.
    other_share : float
        Of the CPU time of the other threads.
    used_bits : int
        Widest vectors of packed arithmetic anywhere in it, or in another of its name (overloads of C++); 0: none.
    offered_bits : int
        What the processor has; 0: unknown.
    scalar_share : float
        Share of the instructions of its innermost loops that compute on one number at a time; of several of its name the least.
    element_bits : int
        Of these numbers; 0 where there are none.
    why : str
        Why the code could not be looked at; empty where it could.
    is_extra_missing : bool
        Whether that is for want of a package.
    """

    function: str
    file: str
    share: float
    main_share: float
    other_share: float
    used_bits: int
    offered_bits: int
    scalar_share: float
    element_bits: int
    why: str = ""
    is_extra_missing: bool = False


def loop_facts(recording: Recording, steps: RunSteps, least_share: float) -> tuple[LoopFacts, ...]:
    """Look at the functions with at least that share of the CPU time, the hottest first."""
    events = recording.events
    # What only names a thread has no file to look at.
    rows = np.flatnonzero((events.kind == Kind.SAMPLE) & (events.name >= 0) & (events.name2 >= 0))
    rows = rows[within_steps(steps, events.start_ns[rows])]
    if not len(rows):
        return ()
    thread = events.pid[rows].astype(np.int64) * (1 << 32) + events.tid[rows]
    weight = events.weight_ns[rows].astype(float)
    main = np.isin(thread, step_threads(recording, steps))
    pairs, place = np.unique(
        np.stack((events.name[rows], events.name2[rows]), axis=1).astype(np.int64), axis=0, return_inverse=True
    )
    place = place.reshape(-1)
    spent = [np.bincount(place, weights=weight * part, minlength=len(pairs)) for part in (np.ones(len(rows)), main, ~main)]
    offered = offered_bits(str(recording.about.get("host", {}).get("cpu_flags", "")))
    hot = []
    for number in np.argsort(-spent[0], kind="stable")[:N_FUNCTIONS].tolist():
        shares = tuple(float(each[number] / each.sum()) if each.sum() else 0.0 for each in spent)
        if max(shares) >= least_share:
            function, file = (events.text(np.array([each]))[0] for each in pairs[number].tolist())
            hot.append((function, file, shares))
    # Reading a large library takes seconds: once for all of its functions.
    read = {file: _read(Path(file), [name for name, other, _ in hot if other == file]) for _, file, _ in hot}
    return tuple(_facts(*each, read[each[1]], offered) for each in hot)


UNKNOWN = "unknown"
"""What counts call an instruction that the disassembler does not know."""


def _facts(function: str, file: str, shares: tuple[float, ...], read: _File, offered: int) -> LoopFacts:
    """What is known of one function."""
    named = read.counts.get(function, ())
    unknown = sum(each.total.mnemonics.get(UNKNOWN, 0) for each in named)
    why = read.why or ("" if named else f"{file} has no {function}")
    # They are vector instructions: without them a loop that uses vectors may look as if it had none.
    why = why or (f"{unknown} instructions of it are newer than the disassembler" if unknown else "")
    # A compiler keeps a scalar copy of a loop for arrays that overlap: packed arithmetic anywhere tells that it found the loop.
    used = max((each.total.vector_bits for each in named), default=0)
    # Samples do not tell overloads apart: what is said of the function holds for each of them.
    tallies = [each.inner or each.total for each in named]
    scalar, bits = min(((scalar_share(each), element_bits(each)) for each in tallies), default=(0.0, 0))
    return LoopFacts(function, file, shares[0], shares[1], shares[2], used, offered, scalar, bits, why, read.is_extra_missing)


def offered_bits(flags: str) -> int:
    """Widest vectors that a processor's flags name; 0 where they name none."""
    words = set(flags.split())
    return next((bits for name, bits in WIDTHS if name in words), 0)


def scalar_share(tally: Tally) -> float:
    """Share of some instructions that compute on one floating-point number at a time."""
    return sum(count for kind, count in tally.kinds.items() if kind.startswith("scalar_")) / max(tally.n_instructions, 1)


def element_bits(tally: Tally) -> int:
    """Size of the numbers that scalar instructions compute on, by their names' ends (x86); 32 where that tells nothing."""
    if not scalar_share(tally):
        return 0
    double = sum(count for name, count in tally.mnemonics.items() if name.endswith("sd") and name[:1] in "vamsdf")
    single = sum(count for name, count in tally.mnemonics.items() if name.endswith("ss") and name[:1] in "vamsdf")
    return 64 if double > single else 32


@dataclass(frozen=True, slots=True)
class _File:
    """Instruction counts of a file's functions by their written names, or why there are none, and whether for want of a package."""

    counts: Mapping[str, Sequence[FunctionCounts]]
    why: str = ""
    is_extra_missing: bool = False


def _read(file: Path, functions: Sequence[str]) -> _File:
    """Counts of those functions that the file has."""
    from mlperf.features.code.cpp_names import written_name
    from mlperf.features.code.read import iterate_functions

    if not file.is_file():
        return _File({}, f"{file} is not on this machine")
    # What samplers could not name they put in brackets: no reason to read a large file.
    names = [each for each in functions if not each.startswith("[")]
    found: dict[str, list[FunctionCounts]] = {}
    try:
        for each in iterate_functions(file, functions=names) if names else ():
            name = each.function if each.function in names else written_name(each.function)
            found.setdefault(name, []).append(each)
        return _File(found)
    except MlperfError as error:
        why = f"{error.message} ({error.hint})" if error.hint else str(error.message)
        return _File(found, why, isinstance(error, MissingExtraError))
