"""Hedging between forecasters: exponential weights of discounted losses, so that none of them can do much harm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import UsageError

WAYS = ("weights", "leader")


@dataclass(frozen=True, slots=True)
class HedgeSettings:
    """How fast trust moves.

    Attributes
    ----------
    rate : float
        eta: weight falls by exp(-eta) for each discounted loss as large as the mean loss of the reference.
    discount : float
        In (0, 1]: a loss counts this much less with every step since.
    prior : float
        Weight of the reference member before anything is known; the others share the rest.
    way : {"weights", "leader"}
        The weighted mean of all forecasts, or the forecast of the member with the largest weight.
    furthest : float
        The combined forecast departs from the reference by at most so many of the reference's mean losses: what has never been
        needed is not risked at the first jump of a steady series.
    """

    rate: float = 0.2
    discount: float = 0.995
    prior: float = 0.5
    way: str = "weights"
    furthest: float = 2.0


class Hedge:
    """Weights of several forecasters from the losses they had.

    Losses are measured in units of the reference's own mean loss, so that ``rate`` has no unit.

    Parameters
    ----------
    n_members : int
        Forecasters; the first one is the reference.
    settings : HedgeSettings
        Rate, discount, prior.

    Attributes
    ----------
    losses : array, shape (n_members,)
        Discounted sums of losses.

    References
    ----------
    Littlestone and Warmuth (1994); Cesa-Bianchi and Lugosi (2006), section 2.11, for discounted losses.
    """

    def __init__(self, n_members: int, settings: HedgeSettings) -> None:
        if settings.way not in WAYS:
            raise UsageError(f"got way {settings.way!r}, expected one of {', '.join(WAYS)}")
        self.settings = settings
        self.losses = np.zeros(n_members)
        self.n_discounted = 0.0
        shared = (1.0 - settings.prior) / max(1, n_members - 1)
        self._log_prior = np.log(np.array([settings.prior if n_members > 1 else 1.0] + [shared] * (n_members - 1)))

    def learn(self, losses: Sequence[float]) -> None:
        """Take in one loss for each member, shape (n_members,), >= 0."""
        self.losses *= self.settings.discount
        self.losses += losses
        self.n_discounted = self.settings.discount * self.n_discounted + 1.0

    @property
    def unit(self) -> float:
        """Discounted mean loss of the reference; 0 before anything is known."""
        return float(self.losses[0]) / self.n_discounted if self.n_discounted else 0.0

    def weights(self) -> FloatArray:
        """Trust in each member, shape (n_members,), sum 1."""
        unit = self.unit
        if not unit > 0.0:
            # The reference never erred, or nothing is known: only the members without loss, if there are losses at all.
            return _normal(np.where(self.losses > 0.0, -math.inf, self._log_prior))
        return _normal(self._log_prior - self.settings.rate / unit * (self.losses - self.losses.min()))

    def combine(self, forecasts: FloatArray, weights: FloatArray) -> float:
        """One forecast of several, shape (n_members,)."""
        # Beside the reference: members that agree with it give it back to the last bit.
        beside = forecasts - forecasts[0]
        departure = float(beside[int(np.argmax(weights))] if self.settings.way == "leader" else weights @ beside)
        limit = self.settings.furthest * self.unit
        return float(forecasts[0]) + max(-limit, min(limit, departure))


def _normal(logarithms: FloatArray) -> FloatArray:
    """exp, scaled to sum 1."""
    weights = np.exp(logarithms - logarithms.max())
    return np.asarray(weights / weights.sum())
