"""What a change of a step would bring, with an interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.shown import Shown

COVERAGE = 0.95
NORMAL = 1.96
BETWEEN_RUNS = 0.02
"""How far mean steps of two runs of one program lie apart, standard deviation over step: what no run tells of itself."""


@dataclass(frozen=True, slots=True)
class Gain(Shown):
    """What a mean step would take less.

    Attributes
    ----------
    step_s : float
        Mean step as recorded.
    saved_s, lower_s, upper_s : float
        Of it saved, with a 95 % interval: of the mean over steps, widened by what is not known of the change itself and by what
        another run of the same program may differ.
    naive_s : float
        What the share of the time alone would suggest: all of the part that the change removes or speeds up, whether or not
        anything waits for it.
    """

    step_s: float
    saved_s: float
    lower_s: float
    upper_s: float
    naive_s: float

    @property
    def share(self) -> float:
        """Saved share of a step."""
        return self.saved_s / self.step_s if self.step_s > 0 else 0.0

    @property
    def lower_share(self) -> float:
        """Lower end of the interval as a share of a step."""
        return self.lower_s / self.step_s if self.step_s > 0 else 0.0


def gain_of(
    step_s: FloatArray,
    saved_s: FloatArray,
    *,
    least: FloatArray | None = None,
    most: FloatArray | None = None,
    naive_s: FloatArray | None = None,
) -> Gain:
    """The gain of a change from what it saves in every step.

    Parameters
    ----------
    step_s, saved_s : array, shape (n_steps,)
        Seconds.
    least, most : array, shape (n_steps,), optional
        What it saves if the change does as little, or as much, as it may; without them ``saved_s``.
    naive_s : array, shape (n_steps,), optional
        What the share of the time suggests; without it ``saved_s``.

    Notes
    -----
    Student's interval of the mean over steps; steps that follow each other are alike, so their number counts as what the first
    autocorrelation leaves of it, n (1 - r) / (1 + r). The mean of further steps lies no further from theirs than they lie from one
    another: where a drift leaves next to nothing of their number Student's interval is wider, and holds the truth no more often.
    """
    low, high = (saved_s if each is None else each for each in (least, most))
    mean = float(step_s.mean())
    other_run = NORMAL * BETWEEN_RUNS * mean
    return Gain(
        mean,
        float(saved_s.mean()),
        max(0.0, float(low.mean()) - float(np.hypot(half_width(low), other_run))),
        min(mean, float(high.mean()) + float(np.hypot(half_width(high), other_run))),
        float((saved_s if naive_s is None else naive_s).mean()),
    )


def half_width(values: FloatArray) -> float:
    """Half the 95 % interval of a mean over steps, at most how far they lie apart, or Student's of independent ones."""
    n = len(values)
    if n < 2:
        return float("inf")
    spread = float(values.std(ddof=1))
    if spread == 0:
        return 0.0
    centred = values - values.mean()
    # The autocorrelation of few values about their own mean comes out too small (Kendall, 1954).
    raw = float((centred[1:] * centred[:-1]).sum() / (centred**2).sum())
    r = float(np.clip(raw + (1 + 4 * raw) / n, 0.0, 0.9))
    effective = max(2.0, n * (1 - r) / (1 + r))
    # Three steps may well lie closer together than their mean is known, even where none is like the one before.
    return min(_student(spread, effective), max(float(np.ptp(values)), _student(spread, n)))


def half_width_of_others(values: FloatArray) -> float:
    """Half the 95 % interval of a mean over things that do not follow each other."""
    return _student(float(values.std(ddof=1)), len(values)) if len(values) > 1 else float("inf")


def _student(spread: float, n: float) -> float:
    """Half of Student's interval of a mean of ``n`` independent values."""
    from scipy.stats import t

    return float(t.ppf(0.5 + COVERAGE / 2, n - 1)) * spread / float(np.sqrt(n))
