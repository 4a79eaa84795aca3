"""What the tasks bring: a score of every method, findings that limits can be set for, goals where they were, notes in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import pandas as pd

from mlperf.core.shown import Shown

ABSENT = "-"


def amount(value: float, kind: str) -> str:
    """A fraction in percent, a number, or yes and no; a dash where it is unknown."""
    if value != value:
        return ABSENT
    if kind == "flag":
        return "yes" if value else "no"
    return percent(value) if kind == "fraction" else number(value)


def percent(fraction: float) -> str:
    """One decimal below 100 %, none above."""
    if fraction != fraction:
        return ABSENT
    return f"{100.0 * fraction:.1f} %" if abs(fraction) < 1.0 else f"{100.0 * fraction:,.0f} %"


def number(value: float) -> str:
    """Whole numbers whole, others with three decimals."""
    if value != value:
        return ABSENT
    return f"{value:,.0f}" if value == round(value) else f"{value:.3f}"


NAN = float("nan")
ROLES = ("default", "best", "local", "linear", "baseline", "other")
FIGURES = {"mape": "MAPE", "q3": "third quartile", "in_domain": "share in domain"}


@dataclass(frozen=True, slots=True, eq=False)
class Score(Shown):
    """How one method did on one device's left-out rows; errors, shares and widths are fractions, NaN where unknown.

    Attributes
    ----------
    task, device, part : str
        ``part`` names one of several tables or passes of a device; else empty.
    method, role : str
        What was fitted; ``role`` is ``default`` (what mlperf takes unasked), ``best`` (of the family, chosen inside the training
        rows), ``local``, ``linear``, ``baseline`` or ``other``.
    n_train, n_test, n_groups : int
        Rows of one fit (the largest), rows tested, groups that stay together.
    r2_adj : float
        Of the left-out rows, about their mean, adjusted for ``n_terms`` columns.
    mape, median, q3, max, bias : float
        Of |predicted - measured| / measured on left-out rows, predictions below 0 counted as 0; ``bias`` signed.
    mape_unclipped, nonpositive : float
        MAPE with negative predictions as they are, and the share of predictions that are not positive.
    noise_floor : float
        How far repeats of one measurement scatter, a fraction, where they were kept.
    in_domain : float
        Share of the left-out rows inside the measured domain.
    coverage, half_width : float
        Share of the left-out rows inside their 95 % prediction interval; median half-width over the prediction.
    fit_s : float
        CPU seconds of all fits.
    choice : str
        What the method chose by itself: neighbours, member of the family, terms.
    """

    task: str
    device: str
    part: str
    method: str
    role: str
    n_train: int
    n_test: int
    n_groups: int
    n_terms: int
    r2_adj: float
    mape: float
    median: float
    q3: float
    max: float
    bias: float
    mape_unclipped: float
    nonpositive: float
    noise_floor: float
    in_domain: float
    coverage: float
    half_width: float
    fit_s: float
    choice: str


@dataclass(frozen=True, slots=True, eq=False)
class Finding(Shown):
    """One number that a task brought for a device, and that a limit may be set for.

    Attributes
    ----------
    task, device, what : str
        ``what`` names it among those of the device: ``"ratio: MAPE"``.
    value : float
    kind : str
        ``fraction`` (printed in percent), ``number`` or ``flag`` (1 yes, 0 no).
    """

    task: str
    device: str
    what: str
    value: float
    kind: str = "fraction"


@dataclass(frozen=True, slots=True, eq=False)
class Goal(Shown):
    """A finding beside its limits.

    Attributes
    ----------
    task, device, what : str
    value, lower, upper : float
        Reached, and its limits; NaN where there is none.
    kind : str
        ``fraction`` (printed in percent), ``number`` or ``flag`` (1 yes, 0 no).
    met : bool
        Whether the value lies within the limits; an unknown value never does.
    """

    task: str
    device: str
    what: str
    value: float
    lower: float
    upper: float
    kind: str
    met: bool


def judged(finding: Finding, lower: float = NAN, upper: float = NAN) -> Goal:
    """The goal of a finding with its verdict."""
    value = finding.value
    # Each comparison is written so that NaN fails for the value and passes for a limit.
    met = value == value and not value < lower and not value > upper
    return Goal(finding.task, finding.device, finding.what, value, lower, upper, finding.kind, met)


def figures_of(scores: Sequence[Score], asked: Sequence[tuple[str, str]]) -> list[Finding]:
    """Findings ``"method: figure"`` of one device for each (method, field of its score) that is asked for."""
    by_method = {one.method: one for one in scores}
    return [
        Finding(by_method[name].task, by_method[name].device, f"{name}: {FIGURES[figure]}", float(getattr(by_method[name], figure)))
        for name, figure in asked
    ]


def reached_text(found: Finding | Goal) -> str:
    """What was reached, in words."""
    return amount(found.value, found.kind)


def limit_text(goal: Goal) -> str:
    """The limits, in words."""
    if goal.kind == "flag":
        return amount(goal.lower, goal.kind)
    parts = [(">=", goal.lower), ("<=", goal.upper)]
    if goal.lower == goal.upper:
        return amount(goal.lower, goal.kind)
    return " and ".join(f"{sign} {amount(limit, goal.kind)}" for sign, limit in parts if limit == limit)


@dataclass(frozen=True, slots=True, eq=False)
class TaskResult(Shown):
    """What one device of one task brought."""

    scores: tuple[Score, ...]
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class OpenAccuracy(Shown):
    """What every method reaches on open measurements, by fixed protocols.

    Attributes
    ----------
    scores, findings : tuple
        In the order of the tasks and devices.
    goals : tuple
        Findings that limits were given for, in their order, then limits of what was not found; empty without limits.
    notes : mapping of str to tuple of str
        By task: what was dropped, chosen, warned of.
    protocols : mapping of str to mapping of str to str
        By task: ``title``, ``data``, ``split``.
    seconds : mapping of str to float
        CPU seconds by task.
    data_sha256 : mapping of str to str
        What was read: file to SHA-256.
    """

    scores: tuple[Score, ...]
    findings: tuple[Finding, ...]
    goals: tuple[Goal, ...]
    notes: Mapping[str, tuple[str, ...]]
    protocols: Mapping[str, Mapping[str, str]]
    seconds: Mapping[str, float]
    data_sha256: Mapping[str, str]

    def missed(self) -> tuple[Goal, ...]:
        """Goals that were not reached."""
        return tuple(goal for goal in self.goals if not goal.met)

    def score_frame(self) -> pd.DataFrame:
        """One row a method, device and task; fractions."""
        names = [field.name for field in fields(Score)]
        return pd.DataFrame([{name: getattr(score, name) for name in names} for score in self.scores], columns=names)

    def to_frame(self) -> pd.DataFrame:
        """The findings in words, or the goals where limits were given; `score_frame` has the errors of every method."""
        if not self.goals:
            found = [(one.task, one.device, one.what, reached_text(one)) for one in self.findings]
            return pd.DataFrame(found, columns=["task", "device", "what", "reached"])
        rows = [(one.task, one.device, one.what, reached_text(one), limit_text(one), one.met) for one in self.goals]
        return pd.DataFrame(rows, columns=["task", "device", "what", "reached", "goal", "met"])
