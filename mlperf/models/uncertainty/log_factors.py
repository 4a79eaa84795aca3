"""One factor a component, between what the model knows of it and what a few measurements say: a normal update of logarithms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtri

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.shown import Shown

NOISE_SHARE = 0.5
"""Spread of a measurement over what the model does not know, before measurements show their own."""
NOISE_ROWS = 3.0
"""Measurements that this first guess counts for."""


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
    """

    names: tuple[str, ...]
    prior_std: FloatArray
    mean: FloatArray
    covariance: FloatArray
    noise_std: FloatArray

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
        reach = float(ndtri(0.5 + level / 2.0)) * self.std
        prior = np.square(self.prior_std)
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
        return np.divide(whole, output_std, out=np.ones_like(whole), where=output_std > 0.0)


def update_log_factors(
    names: tuple[str, ...], prior_std: FloatArray, shares: FloatArray, log_ratio: FloatArray, column: IntArray
) -> LogFactors:
    """Factors of components from measurements of them, and of sums that they are parts of.

    The logarithm of each factor is normal about 0 with the spread that the model does not know of; a measurement is the sum of
    ``shares`` times them plus noise. The noise of each kind of measurement is what its rows scatter by, from a first guess that
    counts for `NOISE_ROWS` rows: with few rows the model's word weighs, with many the measurements'.

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
        Which kind of measurement a row is, from 0.

    Returns
    -------
    LogFactors
        As they were where there is no row.

    References
    ----------
    Gelman et al., Bayesian Data Analysis, sections 2.5 and 14.8: normal data with a normal prior; noise by its scaled
    inverse chi-squared mean.
    """
    prior = np.diag(np.square(prior_std))
    n_columns = int(column.max()) + 1 if len(column) else 0
    noise = np.zeros(n_columns)
    for kind in range(n_columns):
        noise[kind] = _noise_std(log_ratio[column == kind], np.square(shares[column == kind]) @ np.square(prior_std))
    if not len(log_ratio):
        return LogFactors(names, prior_std, np.zeros(len(names)), prior, noise)
    spread = shares @ prior @ shares.T + np.diag(np.square(noise[column]) + 1e-18)
    gain = np.linalg.solve(spread, shares @ prior).T
    covariance = prior - gain @ shares @ prior
    return LogFactors(names, prior_std, gain @ log_ratio, 0.5 * (covariance + covariance.T), noise)


def _noise_std(log_ratio: FloatArray, prior_var: FloatArray) -> float:
    """Spread of one kind of measurement about its mean, with the first guess as so many rows more."""
    first = NOISE_SHARE**2 * float(np.mean(prior_var))
    about_mean = float(np.sum(np.square(log_ratio - log_ratio.mean())))
    return float(np.sqrt((NOISE_ROWS * first + about_mean) / (NOISE_ROWS + len(log_ratio) - 1.0)))
