"""What to watch, and how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mlperf.core.errors import UsageError

AUTO = "auto"
PERFORMANCE_WORDS = (AUTO, "progress", "instructions", "cpu", "io")
SHORTEST_INTERVAL_S = 0.01


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """One run under watch.

    Attributes
    ----------
    command : tuple of str
        Program and arguments.
    interval_s : float
        Time between samples.
    horizon_s : float
        How far ahead is forecast; rounded to whole samples.
    performance : str
        ``"auto"``: progress where the command reports some in its first samples, else instructions where the processor counts them,
        else processor time; or one of them by name.
    progress_file : Path or None
        File in which the command reports progress.
    record : Path or None
        CSV that the stream is written to while it comes.
    level : float
        Promised coverage of the intervals.
    """

    command: tuple[str, ...]
    interval_s: float = 0.25
    horizon_s: float = 1.0
    performance: str = AUTO
    progress_file: Path | None = None
    record: Path | None = None
    level: float = 0.9

    def __post_init__(self) -> None:
        if not self.interval_s >= SHORTEST_INTERVAL_S:
            raise UsageError(f"got an interval of {self.interval_s} s, expected at least {SHORTEST_INTERVAL_S} s")
        if not self.horizon_s >= self.interval_s:
            raise UsageError(
                f"got a horizon of {self.horizon_s} s, expected at least the interval of {self.interval_s} s",
                hint="Sample more often with --interval, or look further ahead with --horizon.",
            )
        if self.performance not in PERFORMANCE_WORDS:
            raise UsageError(f"got performance {self.performance!r}, expected one of {', '.join(PERFORMANCE_WORDS)}")
