"""Numbers, and durations as people write them: ``12h``, ``90 minutes``, ``2d``, ``1h30min``; and as batch systems read them."""

from __future__ import annotations

import math
import re

from mlperf.core.errors import DataError

WORDS = {
    604800.0: ("w", "week", "weeks"),
    86400.0: ("d", "day", "days"),
    3600.0: ("h", "hr", "hrs", "hour", "hours"),
    60.0: ("m", "min", "mins", "minute", "minutes"),
    1.0: ("s", "sec", "secs", "second", "seconds"),
}
"""What people call each unit, by its seconds."""
UNITS_S = {word: seconds for seconds, words in WORDS.items() for word in words}
PART = re.compile(rf"(\d+(?:\.\d+)?)({'|'.join(sorted(UNITS_S, key=len, reverse=True))})")
LONGEST_S = 1e11
"""Three thousand years."""
HINT = "As in 12h, 90min, 2d or 1h30min."


def number_in(text: str | bytes) -> float:
    """The number that a text is, infinities included; NaN where it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def duration_s(text: object, place: str | None = None) -> float:
    """Seconds of a duration: a number of seconds, or a text such as ``"1h30min"`` or ``"9 hours"``.

    Raises
    ------
    DataError
        Neither; a text needs its unit.
    """
    if isinstance(text, (int, float)) and not isinstance(text, bool) and 0.0 <= text <= LONGEST_S:
        return float(text)
    compact = text.replace(" ", "").lower() if isinstance(text, str) else ""
    parts = PART.findall(compact)
    if not parts or "".join(number + unit for number, unit in parts) != compact:
        raise DataError(f"got {text!r:.60}, expected a duration with its unit", place=place, hint=HINT)
    seconds = sum(float(number) * UNITS_S[unit] for number, unit in parts)
    if seconds > LONGEST_S:
        raise DataError(f"got {text!r:.60}, expected a duration of at most {LONGEST_S:g} s", place=place)
    return seconds


def slurm_time(seconds: float) -> str:
    """A time limit as Slurm reads it, rounded up to the next minute: ``"12:34:00"``, from a day on ``"1-02:03:00"``.

    References
    ----------
    Slurm, sbatch manual, option ``--time``: hours:minutes:seconds and days-hours:minutes:seconds.
    """
    minutes = math.ceil(seconds / 60.0 - 1e-9)
    days, rest = divmod(minutes, 24 * 60)
    clock = f"{rest // 60:02d}:{rest % 60:02d}:00"
    return f"{days}-{clock}" if days else clock
