"""The answer of a command in one sentence: what was asked, what came out, whose times it rests on, and whether to believe it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.printable import printable
from mlperf.report.text.numbers import TIME_UNITS_S, best_unit, number_text, percent_text
from mlperf.systems.sprint.components import OF_PASSES
from mlperf.training.measured_on import MeasuredOn

MOST_REASONS = 2


@dataclass(frozen=True, slots=True)
class Outside:
    """One reason why an answer lies outside of what was measured.

    Attributes
    ----------
    what : str
        The kernel, component or column.
    why : str
        How far outside, such as ``k 4,608 above 2,304``; empty where only that is known.
    share : float
        Of the time, a fraction; NaN where not known.
    of : str
        Of which time.
    """

    what: str
    why: str = ""
    share: float = float("nan")
    of: str = "the time"

    def text(self) -> str:
        """The reason in words."""
        share = "" if self.share != self.share else f" ({percent_text(self.share)} of {self.of})"
        return f"{self.what}{f' {self.why}' if self.why else ''}{share}"


@dataclass(frozen=True, slots=True)
class TimesFrom:
    """Where the times of an answer come from.

    Attributes
    ----------
    model : str
        What the model was trained on; empty where not known.
    measured_on : str
        The machine that was measured; empty where not known.
    assumed : tuple of str
        Components that nobody measured, taken from the specification of the machine asked about.
    warning : str
        Why the times are not those of the machine asked about; empty where they are.
    """

    model: str = ""
    measured_on: str = ""
    assumed: tuple[str, ...] = ()
    warning: str = ""

    @classmethod
    def of(
        cls, measured_on: MeasuredOn | None, machine: str = "", other_machine: Sequence[str] = (), assumed: Sequence[str] = ()
    ) -> TimesFrom:
        """Of what a prediction knows of its model, of the machine asked about, and of how they differ."""
        known = ("", "") if measured_on is None else (measured_on.campaign, measured_on.processor)
        named = machine or "the machine asked about"
        return cls(*known, tuple(assumed), f"NOT of {named}: {'; '.join(other_machine)}" if other_machine else "")

    def text(self) -> str:
        """The same in words; empty where nothing is known."""
        model = f"model of {self.model}" if self.model else ""
        if self.measured_on:
            model = f"{model or 'a model'} (measured on {self.measured_on})"
        assumed = f"{', '.join(self.assumed)} assumed, not measured" if self.assumed else ""
        return ", ".join(part for part in (model, assumed, self.warning) if part)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command says first.

    Attributes
    ----------
    asked : str
        What was asked.
    found : str
        The numbers, with units and intervals.
    times : TimesFrom
        Whose times they rest on.
    inside : bool or None
        Whether all of it lies inside of what was measured; None where that is no question.
    outside : tuple of Outside
        Why not, as far as known, in any order; the heaviest are told.
    """

    asked: str
    found: str
    times: TimesFrom = TimesFrom()
    inside: bool | None = None
    outside: tuple[Outside, ...] = ()

    def text(self) -> str:
        """The sentence, on one line."""
        times = self.times.text()
        told = [f"{self.asked}: {self.found}", *([f"times: {times}"] if times else []), *self._domain()]
        return printable("; ".join(told))

    def brief(self) -> str:
        """The same without where the times come from and without reasons."""
        outside = "" if self.inside is not False else "; outside the measured domain"
        return printable(f"{self.asked}: {self.found}{outside}")

    def _domain(self) -> list[str]:
        if self.inside is None:
            return []
        if self.inside:
            return ["inside the measured domain"]
        weighed = sorted(self.outside, key=lambda reason: -reason.share if reason.share == reason.share else 0.0)
        reasons = ", ".join(reason.text() for reason in weighed[:MOST_REASONS])
        more = f" and {len(weighed) - MOST_REASONS} more" if len(weighed) > MOST_REASONS else ""
        return [f"outside the measured domain{f': {reasons}{more}' if reasons else ''}"]


def time_range_text(value_s: float, lower_s: float, upper_s: float, level: float, of: str = "") -> str:
    """A time with its interval in one unit: ``11.2 min an epoch (95 %: 10.4 to 12.3)``; without interval where there is none."""
    unit = best_unit([value_s], TIME_UNITS_S, "s")
    value, lower, upper = (number_text(time / TIME_UNITS_S[unit], 3) for time in (value_s, lower_s, upper_s))
    interval = "" if lower_s != lower_s else f" ({100 * level:g} %: {lower} to {upper})"
    return f"{value} {unit}{f' {of}' if of else ''}{interval}"


def plain_time(seconds: float) -> str:
    """A time without interval."""
    return time_range_text(seconds, float("nan"), float("nan"), 0.95)


NO_INTERVAL = "intervals do not tell how far that is off"
"""A figure that nobody measured has no error that could be drawn: every interval takes it as exact."""


def short_epoch_lines(dataset_size: IntArray, samples_of_step: FloatArray) -> list[str]:
    """That a data set has fewer samples than one step takes, shape (n_configs,) each; nothing where none has."""
    short = dataset_size < samples_of_step
    if not short.any():
        return []
    row = int(np.argmax(short))
    which = "" if len(short) == 1 else f" in {int(short.sum())} of {len(short)} configurations"
    return [
        f"The data set of {int(dataset_size[row]):,} samples is less than one step takes{which} "
        f"({number_text(float(samples_of_step[row]), 3)}): the epoch is that share of a step, and no run is as short."
    ]


def unmeasured_lines(assumed: Sequence[str], left_out: Sequence[str] = (), *, is_exact: bool = True) -> list[str]:
    """Sentences that name the components nobody measured: those of the machine's specification, and those that count as 0.

    ``is_exact``: whether intervals take a specification as exact; after measured steps they do not.
    """
    specified = [name for name in assumed if name not in OF_PASSES]
    passes = [name for name in assumed if name in OF_PASSES]
    untold = f"; {NO_INTERVAL}" if is_exact else ""
    lines = [f"Not measured, taken from the machine's specification: {', '.join(specified)}{untold}."] if specified else []
    lines += [f"Not measured, worked out from measured passes over vectors: {', '.join(passes)}."] if passes else []
    return [*lines, f"Not measured, counted as 0: {', '.join(left_out)}; {NO_INTERVAL}."] if left_out else lines


def count_text(number: int, one: str, many: str = "") -> str:
    """A count with its noun: ``1 row``, ``1,204 rows``."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def share_text(part: int, whole: int) -> str:
    """How many of how many: ``164 of 211``, ``all 211``, ``none of 211``."""
    return f"all {whole:,}" if part == whole else f"{part or 'none'} of {whole:,}" if part < 1000 else f"{part:,} of {whole:,}"


def listed(words: Iterable[str], most: int = 3) -> str:
    """A few words with commas, and how many further ones there are."""
    every = list(words)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return f"{', '.join(every[:most])}{more}"
