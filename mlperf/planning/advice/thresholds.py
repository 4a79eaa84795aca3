"""Where a fact becomes a hint: every number that rules compare with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Limits of the rules, shares of a step unless said otherwise.

    Attributes
    ----------
    least_gain : float
        Expected gain below which nothing is said.
    least_lower_gain : float
        Lower end of the gain's interval below which a hint is inconclusive.
    waiting_for_input : float
        Time in input phases above which the input is looked at.
    full_cores : float
        Share of the cores that workers keep busy above which more of them bring nothing.
    late_rank : float
        Cost of the latest rank beyond the median of the others.
    in_locks : float
        Share of its time that a thread waits for locks.
    of_peak : float
        Share of the memory's measured peak below which a phase that moves data leaves much of it unused.
    full_memory : float
        Share of that peak above which counted traffic fills the memory.
    in_one_loop : float
        Share of the CPU time in one function whose innermost loops are looked at.
    slow_link : float
        Share of the median link's bandwidth below which a link of a ring is looked at where others are not known.
    explained : float
        Share of a finding's gain that another one must reach to be its cause.
    few_steps : int
        Steps below which no interval is trusted.
    """

    least_gain: float = 0.05
    least_lower_gain: float = 0.02
    waiting_for_input: float = 0.08
    full_cores: float = 0.8
    late_rank: float = 0.05
    in_locks: float = 0.10
    of_peak: float = 0.4
    full_memory: float = 0.7
    in_one_loop: float = 0.10
    slow_link: float = 0.6
    explained: float = 0.5
    few_steps: int = 5
