"""What the ladder finds: a score of every method, a goal beside what was reached, notes in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from mlperf.core.shown import Shown
from mlperf.studies.open_data.wording import amount

NAN = float("nan")
ROLES = ("default", "best", "local", "linear", "baseline", "other")


@dataclass(frozen=True, slots=True, eq=False)
class Score(Shown):
    """How one method did on one device's left-out rows; errors, shares and widths are fractions, NaN where unknown.

    Attributes
    ----------
    rung, device, part : str
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
        Error that no method can go below, where repeats tell it.
    in_domain : float
        Share of the left-out rows inside the measured domain.
    coverage, half_width : float
        Share of the left-out rows inside their 95 % prediction interval; median half-width over the prediction.
    fit_s : float
        CPU seconds of all fits.
    choice : str
        What the method chose by itself: neighbours, member of the family, terms.
    """

    rung: str
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
class Goal(Shown):
    """What was to be reached on one device, and what was.

    Attributes
    ----------
    rung, device, what : str
    value, lower, upper : float
        Reached, and its limits; NaN where there is none.
    kind : str
        ``fraction`` (printed in percent), ``number`` or ``flag`` (1 yes, 0 no).
    met : bool
        Whether the value lies within the limits; an unknown value never does.
    """

    rung: str
    device: str
    what: str
    value: float
    lower: float
    upper: float
    kind: str
    met: bool


def judged(rung: str, device: str, what: str, value: float, lower: float = NAN, upper: float = NAN, kind: str = "fraction") -> Goal:
    """A goal with its verdict."""
    # Each comparison is written so that NaN fails for the value and passes for a limit.
    met = value == value and not value < lower and not value > upper
    return Goal(rung, device, what, value, lower, upper, kind, met)


def reached_text(goal: Goal) -> str:
    """What was reached, in words."""
    return amount(goal.value, goal.kind)


def limit_text(goal: Goal) -> str:
    """The limits, in words."""
    if goal.kind == "flag":
        return amount(goal.lower, goal.kind)
    parts = [(">=", goal.lower), ("<=", goal.upper)]
    if goal.lower == goal.upper:
        return amount(goal.lower, goal.kind)
    return " and ".join(f"{sign} {amount(limit, goal.kind)}" for sign, limit in parts if limit == limit)


@dataclass(frozen=True, slots=True, eq=False)
class Climbed(Shown):
    """What one device of one rung brought."""

    scores: tuple[Score, ...]
    goals: tuple[Goal, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Ladder(Shown):
    """The whole table.

    Attributes
    ----------
    scores, goals : tuple
        In the order of the rungs and devices.
    notes : mapping of str to tuple of str
        By rung: what was dropped, chosen, warned of.
    protocols : mapping of str to mapping of str to str
        By rung: ``title``, ``data``, ``split``.
    seconds : mapping of str to float
        CPU seconds by rung.
    data_sha256 : mapping of str to str
        What was read: file to SHA-256.
    """

    scores: tuple[Score, ...]
    goals: tuple[Goal, ...]
    notes: Mapping[str, tuple[str, ...]]
    protocols: Mapping[str, Mapping[str, str]]
    seconds: Mapping[str, float]
    data_sha256: Mapping[str, str]

    @property
    def all_met(self) -> bool:
        """Whether every goal was reached."""
        return all(goal.met for goal in self.goals)

    def missed(self) -> tuple[Goal, ...]:
        """Goals that were not reached."""
        return tuple(goal for goal in self.goals if not goal.met)

    def score_frame(self) -> pd.DataFrame:
        """One row a method, device and rung; fractions."""
        return pd.DataFrame([{name: getattr(score, name) for name in Score.__slots__} for score in self.scores])

    def goal_frame(self) -> pd.DataFrame:
        """One row a goal."""
        return pd.DataFrame([{name: getattr(goal, name) for name in Goal.__slots__} for goal in self.goals], columns=Goal.__slots__)

    def to_frame(self) -> pd.DataFrame:
        """The goals in words; `score_frame` has the errors of every method."""
        rows = [(one.rung, one.device, one.what, reached_text(one), limit_text(one), one.met) for one in self.goals]
        return pd.DataFrame(rows, columns=["rung", "device", "what", "reached", "goal", "met"])
