"""What a rule concludes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mlperf.planning.advice.gains import Gain

INPUT = "input"
SLOW_RANK = "slow rank"
ROTATING_RANK = "rotating slow rank"
BAD_STEPS = "a few bad steps"
LOCK = "lock contention"
MEMORY = "memory-bound phase"
SCALAR = "scalar loop"
PAUSE = "pause"
RING = "ring order"
CAUSES = (INPUT, SLOW_RANK, ROTATING_RANK, BAD_STEPS, LOCK, MEMORY, SCALAR, PAUSE, RING)

NAMED, INCONCLUSIVE = "named", "inconclusive"


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause, judged.

    Attributes
    ----------
    cause : str
        Of `CAUSES`.
    verdict : str
        ``"named"`` or ``"inconclusive"``.
    subject : str
        What exactly: a phase, a rank, a function, a line.
    gain : Gain or None
        Of removing it; None where it cannot be told.
    evidence : mapping
        Facts that the verdict rests on, numbers in the units that their names say.
    explains : tuple of str
        Causes that are this one's consequence.
    why : str
        Of an inconclusive verdict, what is missing.
    """

    cause: str
    verdict: str
    subject: str
    gain: Gain | None
    evidence: Mapping[str, float | int | str] = field(default_factory=dict)
    explains: tuple[str, ...] = ()
    why: str = ""
