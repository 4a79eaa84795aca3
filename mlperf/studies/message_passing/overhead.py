"""What recording costs: the same program with and without it, in turns."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from mlperf.studies.message_passing.programs import Launch, Programs, plain_s, run_recorded


@dataclass(frozen=True, slots=True)
class Overhead:
    """Paired runs of one program.

    Attributes
    ----------
    recorder, program : str
        ``pmpi`` or ``mpi4py proxy``; what was run.
    with_s, without_s : tuple of float
        Times of the pairs, in order.
    n_events : int
        Recorded in a run.
    bytes_per_event : float
        Names and places included.
    """

    recorder: str
    program: str
    with_s: tuple[float, ...]
    without_s: tuple[float, ...]
    n_events: int
    bytes_per_event: float

    @property
    def share(self) -> float:
        """Median of the paired ratios, less one."""
        return statistics.median(one / other for one, other in zip(self.with_s, self.without_s, strict=True)) - 1.0


def paired(programs: Programs, recorder: str, program: str, launches: tuple[Launch, Launch], n_pairs: int) -> Overhead:
    """Run a program recorded and plain, in turns; who begins changes from pair to pair, so that no drift favours one."""
    recorded, plain = launches
    with_s, without_s = [], []
    n_events = n_bytes = 0
    for pair in range(n_pairs):
        if pair % 2:
            without_s.append(plain_s(plain))
        time_s, _, n_events, n_bytes = run_recorded(programs, recorded)
        with_s.append(time_s)
        if not pair % 2:
            without_s.append(plain_s(plain))
    return Overhead(recorder, program, tuple(with_s), tuple(without_s), n_events, n_bytes / max(n_events, 1))
