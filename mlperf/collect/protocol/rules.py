"""Rules that every request of runs checks alike: numbers above zero, learning, the link that is waited for, `refuse_broken`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf

from mlperf.core.errors import UsageError

Rule = tuple[object, str]
"""Whether it is broken, and what to say then."""


def above_zero(numbers: Mapping[str, float]) -> Rule:
    """Numbers by name that are above 0 and finite."""
    broken = {name: value for name, value in numbers.items() if not 0 < value < inf}
    return broken, f"got {shown(broken)}, expected numbers above 0, and finite"


def learning(rate: float, momentum: float) -> Rule:
    """Numbers with which gradient descent with momentum can run."""
    got = shown({"learning rate": rate, "momentum": momentum})
    return not 0 < rate < inf or not 0 <= momentum < 1, f"got {got}, expected learning rate > 0 and 0 <= momentum < 1, both finite"


def link(bytes_per_s: float, *latencies_s: float) -> Rule:
    """Numbers that a network can have."""
    broken = not all(0 <= each < inf for each in latencies_s) or not 0 < bytes_per_s < inf
    got = f"latency {', '.join(f'{each:g}' for each in latencies_s)} s and bandwidth {bytes_per_s:g} bytes/s"
    return broken, f"got {got}, expected latency >= 0 and bandwidth > 0, both finite"


def shown(numbers: Mapping[str, float]) -> str:
    """Names with their numbers."""
    return ", ".join(f"{name} {value:g}" for name, value in numbers.items())


def refuse_broken(rules: Iterable[Rule], place: str) -> None:
    """Refuse what breaks a rule, the first one named.

    Parameters
    ----------
    rules : iterable of (object, str)
        Whether each is broken, and what to say then.
    place : str
        The command.

    Raises
    ------
    UsageError
        A rule is broken.
    """
    for broken, message in rules:
        if broken:
            raise UsageError(message, place=place, hint=f"See {place} --help.")
