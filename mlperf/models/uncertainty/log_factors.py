"""One factor a component, between what the model knows of it and what a few measurements say: a normal update of logarithms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import ndtri

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.shown import Shown
from mlperf.models.uncertainty.own_scatter import OwnScatter, own_scatter

NOISE_SHARE = 0.5
"""Spread of a measurement over what the model does not know, before measurements show their own."""
NOISE_ROWS = 3.0
"""Measurements that this first guess counts for."""
N_ROUNDS = 40
"""Of finding noise and factors in turn, which converges within a few rounds, to the last bit or to and fro about it."""
LEAST_VARIANCE = 1e-12
BELIEF = 4.0
"""Degrees of freedom that a model's word on how unsure it is counts for: factors far beyond it are as Student's t has them."""
SCALES = np.geomspace(1.0, 1e6, 481)
"""Times, squared, that a model may be less sure than it says."""
DISBELIEF = (BELIEF + 2.0) * np.log(SCALES) + BELIEF / SCALES
"""Twice what the model's word takes from the likelihood of each, in logarithms."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LogFactors(Shown):
    """Factors of components after some measurements, on the logarithmic scale.

    Attributes
    ----------
    names : tuple of str
        The components.
    prior_std : array, shape (n_components,)
        What the model did not know of each, about no change.
    mean : array, shape (n_components,)
        Logarithm of each factor.
    covariance : array, shape (n_components, n_components)
        What is not known of them now.
    noise_std : array, shape (n_columns,)
        Spread of one measurement of each kind.
    kinds : array of int, shape (n_columns,)
        The kinds of which there are measurements.
    scatter : OwnScatter or None
        What the measurements show of that spread by themselves; None without measurements.
    influence : array, shape (n_columns, n_components, n_components), or None
        What a variance of the measurements of each kind adds to ``covariance``.
    scale : float
        How many times as unsure as it says measurements show the model to be; 1 where they do not contradict it.
    """

    names: tuple[str, ...]
    prior_std: FloatArray
    mean: FloatArray
    covariance: FloatArray
    noise_std: FloatArray
    kinds: IntArray
    scatter: OwnScatter | None = None
    influence: FloatArray | None = None
    scale: float = 1.0

    def widened(self, level: float) -> LogFactors:
        """The same factors, less sure where measurements scatter more than the model said: as Student's t of so few goes."""
        if self.scatter is None or self.influence is None:
            return self
        std = np.where(self.scatter.surprise > 0.0, np.maximum(self.noise_std, self.scatter.bound_std(level)), self.noise_std)
        more = np.einsum("k,kcd->cd", np.square(std) - np.square(self.noise_std), self.influence)
        return replace(self, covariance=self.covariance + more, noise_std=std, scatter=None, influence=None)

    @property
    def std(self) -> FloatArray:
        """Standard deviation of each logarithm, shape (n_components,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def factors(self) -> dict[str, float]:
        """Component to factor."""
        return dict(zip(self.names, map(float, np.exp(self.mean)), strict=True))

    def to_table(self, level: float) -> pd.DataFrame:
        """One row a component: factor with interval, how much the measurements weigh, and what was not known before and after."""
        reach = float(ndtri(0.5 + level / 2.0)) * self.widened(level).std
        prior = np.square(self.scale * self.prior_std)
        known = np.divide(np.square(self.std), prior, out=np.ones_like(prior), where=prior > 0.0)
        return pd.DataFrame(
            {
                "component": self.names,
                "factor": np.exp(self.mean),
                "lower_factor": np.exp(self.mean - reach),
                "upper_factor": np.exp(self.mean + reach),
                "measured_share": 1.0 - known,
            }
        )

    def log_shift(self, shares: FloatArray) -> FloatArray:
        """First-order change of the logarithm of outputs, shape (n_rows,), of shares (n_rows, n_components)."""
        return np.asarray(shares @ self.mean)

    def relative_width(self, shares: FloatArray, output_std: FloatArray, noise_std: FloatArray | float) -> FloatArray:
        """Width of an output's interval over what it was before the measurements, shape (n_rows,).

        Parameters
        ----------
        shares : array, shape (n_rows, n_components)
            Change of the output's logarithm with that of each component.
        output_std : array, shape (n_rows,)
            Of the output's logarithm, as the model gave it.
        noise_std : array or float
            Spread of one run that stays however much is measured; 0 for the interval of a mean.

        Returns
        -------
        array
            What the components do not explain of ``output_std`` stays; above 1 where measurements scatter more than the model said.
        """
        before = np.einsum("rc,c,rc->r", shares, np.square(self.prior_std), shares)
        after = np.einsum("rc,cd,rd->r", shares, self.covariance, shares)
        other = np.maximum(np.square(output_std) - before, 0.0)
        whole = np.sqrt(np.maximum(after, 0.0) + other + np.square(noise_std))
        return np.asarray(np.divide(whole, output_std, out=np.ones_like(whole), where=output_std > 0.0), dtype=np.float64)


def update_log_factors(
    names: tuple[str, ...],
    prior_std: FloatArray,
    shares: FloatArray,
    log_ratio: FloatArray,
    column: IntArray,
    noise_from: FloatArray | None = None,
) -> LogFactors:
    """Factors of components from measurements of them, and of sums that they are parts of.

    The logarithm of each factor is normal about 0 with the spread that the model does not know of; a measurement is the sum of
    ``shares`` times them plus noise. The noise of each kind of measurement is what the factors leave unexplained of its rows, from
    a first guess that counts for `NOISE_ROWS` rows: with few rows the model's word weighs, with many the measurements'. Where
    measurements that agree with one another lie far beyond what the model does not know, as on another machine, all of it is taken
    as so many times less sure as is likeliest. Intervals are those of `LogFactors.widened`.

    Parameters
    ----------
    names : tuple of str
        Components.
    prior_std : array, shape (n_components,)
    shares : array, shape (n_rows, n_components)
        1 for the component that a row measures; for a sum, the part of each component in it.
    log_ratio : array, shape (n_rows,)
        log(measured / predicted).
    column : array of int, shape (n_rows,)
        Which kind of measurement a row is.
    noise_from : array, shape (n_components,), optional
        Spreads that the first guess of the noise is made from, where some of ``prior_std`` say nothing of runs.

    Returns
    -------
    LogFactors
        As they were where there is no row.

    References
    ----------
    Gelman et al., Bayesian Data Analysis, sections 2.5 and 14.8: normal data with a normal prior; Dempster, Laird and Rubin
    (1977): noise by expectation and maximization, with a scaled inverse chi-squared prior.
    """
    kinds, column = np.unique(column, return_inverse=True)
    n_columns = len(kinds)
    spreads = np.square(prior_std if noise_from is None else noise_from)
    first = np.array([NOISE_SHARE**2 * float(np.mean(np.square(shares[column == kind]) @ spreads)) for kind in range(n_columns)])
    counts = np.bincount(column, minlength=n_columns)

    scaled, guessed, believed = shares * prior_std, NOISE_ROWS * first, NOISE_ROWS + counts

    def next_round(variance: FloatArray) -> tuple[FloatArray, float]:
        weight = 1.0 / np.maximum(variance[column], LEAST_VARIANCE)
        scale = _scale(scaled, weight, log_ratio)
        mean, covariance = _posterior(scale * prior_std, shares, log_ratio, weight)
        unexplained = np.square(log_ratio - shares @ mean) + np.einsum("rc,cd,rd->r", shares, covariance, shares)
        return (guessed + np.bincount(column, unexplained, minlength=n_columns)) / believed, scale

    variance, scale = _after_rounds(next_round, first)
    mean, covariance = _posterior(scale * prior_std, shares, log_ratio, 1.0 / np.maximum(variance[column], LEAST_VARIANCE))
    if not n_columns:
        return LogFactors(names, prior_std, mean, covariance, np.sqrt(variance), kinds)
    scatter = own_scatter(prior_std, shares, log_ratio, column, variance, first, NOISE_ROWS)
    moves = covariance @ shares.T / np.maximum(variance[column], LEAST_VARIANCE)
    influence = np.stack([moves[:, column == kind] @ moves[:, column == kind].T for kind in range(n_columns)])
    return LogFactors(names, prior_std, mean, covariance, np.sqrt(variance), kinds, scatter, influence, scale)


def _after_rounds(next_round: Callable[[FloatArray], tuple[FloatArray, float]], first: FloatArray) -> tuple[FloatArray, float]:
    """Variances and scale after `N_ROUNDS`; once variances come back bit for bit, what remains is what came since then."""
    rounds, met = [(first, 1.0)], {first.tobytes(): 0}
    for number in range(1, N_ROUNDS + 1):
        rounds.append(next_round(rounds[-1][0]))
        before = met.setdefault(rounds[-1][0].tobytes(), number)
        if before < number:
            return rounds[number - (number - N_ROUNDS) % (number - before)]
    return rounds[-1]


def _scale(scaled: FloatArray, weight: FloatArray, log_ratio: FloatArray) -> float:
    """The likeliest of `SCALES` for known noise, each direction that the rows tell by itself; at least 1.

    ``scaled`` are shares times what the model does not know, ``weight`` the reciprocal variance of each row.
    """
    told, directions = np.linalg.eigh((scaled * weight[:, None]).T @ scaled)
    is_told = told > 1e-9 * max(float(told.max(initial=0.0)), 1.0)
    squares = np.square(directions.T @ (scaled.T @ (weight * log_ratio)))[is_told] / told[is_told]
    # One row a direction, which are few: sums over rows take a third of the time that sums within short rows do.
    spread = 1.0 + np.multiply.outer(told[is_told], SCALES)
    misfit = (np.log(spread) + squares[:, None] / spread).sum(axis=0)
    likeliest = np.argmin(misfit + DISBELIEF)
    return float(np.sqrt(SCALES[likeliest]))


def _posterior(
    prior_std: FloatArray, shares: FloatArray, log_ratio: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean (n_components,) and covariance of the logarithms for known noise; a component that is known exactly stays so."""
    scaled = shares * prior_std
    inner = np.linalg.inv(np.eye(len(prior_std)) + (scaled * weight[:, None]).T @ scaled)
    covariance = prior_std[:, None] * inner * prior_std
    covariance = 0.5 * (covariance + covariance.T)
    return covariance @ (shares.T @ (weight * log_ratio)), covariance
