"""How far measurements scatter about any factors at all, where that is more than was guessed of them, and how few say so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from mlperf.core.arrays import FloatArray, IntArray

WIDE, LEAST_WIDE = 10.0, 0.5
"""Spreads of logarithms that explain all of a measurement but its scatter: over what the model does not know, and at least."""
LEAST_FREEDOM = 2.0
"""Student's t of one degree of freedom is 13 times the scatter that two measurements show: wider than any time is unknown."""


@dataclass(frozen=True, slots=True, eq=False)
class OwnScatter:
    """Scatter of each kind of measurement, by themselves.

    Attributes
    ----------
    std : array, shape (n_columns,)
        Of one measurement, between the first guess and what they show.
    freedom : array, shape (n_columns,)
        Degrees of freedom that it rests on, at least two.
    surprise : array, shape (n_columns,)
        0 where measurements scatter no more than was guessed; towards 1 the more they do.
    n_repeats : array, shape (n_columns,)
        Degrees of freedom of the measurements alone: repeats that no factor explains.
    """

    std: FloatArray
    freedom: FloatArray
    surprise: FloatArray
    n_repeats: FloatArray

    def bound_std(self, level: float) -> FloatArray:
        """Standard deviation whose normal interval reaches as far as Student's with few degrees of freedom, shape (n_columns,)."""
        tail = 0.5 + level / 2.0
        return np.asarray(self.std * (1.0 + self.surprise * (stdtrit(self.freedom, tail) / ndtri(tail) - 1.0)))


def own_scatter(
    spread: FloatArray,
    shares: FloatArray,
    log_ratio: FloatArray,
    column: IntArray,
    variance: FloatArray,
    guess: FloatArray,
    guess_rows: float,
) -> OwnScatter:
    """Scatter of measurements about the factors that fit them best, whatever a model says of those.

    The guess counts for ``guess_rows`` rows, and for fewer the more measurements contradict it: for ``guess_rows`` times the ratio
    of its variance to theirs.

    Parameters
    ----------
    spread : array, shape (n_components,)
        What the model does not know of each logarithm.
    shares, log_ratio, column : array
        As `mlperf.models.uncertainty.log_factors.update_log_factors` takes them.
    variance, guess : array, shape (n_columns,)
        Of one measurement of each kind: as the factors took it, and as first guessed.
    guess_rows : float
    """
    n_columns = len(guess)
    rest, own = unexplained(shares * np.maximum(WIDE * spread, LEAST_WIDE), np.maximum(variance[column], 1e-12), log_ratio)
    squares = np.bincount(column, np.square(rest), minlength=n_columns)
    repeats: FloatArray = np.bincount(column, own, minlength=n_columns).astype(np.float64)
    shown = np.divide(squares, repeats, out=np.zeros(n_columns), where=repeats > 0.5)
    more = shown > guess
    known = np.divide(guess, shown, out=np.ones(n_columns), where=more)
    counted = guess_rows * known
    std = np.sqrt(np.where(more, (counted * guess + squares) / (counted + repeats), variance))
    return OwnScatter(std, np.maximum(counted + repeats, LEAST_FREEDOM), 1.0 - known, repeats)


def unexplained(scaled: FloatArray, noise: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What wide factors leave of values, and the sum of squares of each row of the matrix that takes them to it.

    The matrix is N (S S' + N)^-1 of the factors' shares S and the diagonal N of noise; by the singular values of N^-1/2 S it takes
    time in proportion to the rows.

    Parameters
    ----------
    scaled : array, shape (n_rows, n_components)
    noise : array, shape (n_rows,)
        Variances > 0.
    values : array, shape (n_rows,)

    Returns
    -------
    tuple of array, shape (n_rows,) each
    """
    std = np.sqrt(noise)
    left, sizes, _ = np.linalg.svd(scaled / std[:, None], full_matrices=False)
    taken = left * (np.square(sizes) / (1.0 + np.square(sizes)))
    white = values / std
    rest = std * (white - taken @ (left.T @ white))
    diagonal = (taken * left).sum(axis=1)
    others = noise * ((taken @ (left.T @ (left / noise[:, None]))) * taken).sum(axis=1)
    return rest, 1.0 - 2.0 * diagonal + others
