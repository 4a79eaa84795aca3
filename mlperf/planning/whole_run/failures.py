"""A run that fails now and then and goes on from its last checkpoint: exact mean, best interval, and draws of the whole run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray

MOST_DRAWN = 2_000_000
"""Lost pieces of time that are drawn one by one; sums of more are drawn as normal."""
LONGEST_TRY = 30.0
"""Length of a try over the mean time between failures beyond which it counts as this long: it practically never ends."""
MOST_TRIES = 1e15
"""Failed tries beyond which their mean is taken for their number."""
FIRST_ORDER = 1e-10
"""Below this cost over mean time between failures the best interval is Young's to ten digits."""


@dataclass(frozen=True, slots=True, eq=False)
class FailureDraws:
    """What draws of a run meet, every array of the shape of the work.

    Attributes
    ----------
    n_failures : array
    lost_s : array
        Work since the last checkpoint that is done again, and starts that were cut short.
    restart_s : array
        Restarts that came through.
    checkpoint_s : array
        Checkpoints that stand; those that a failure cut short are among what is lost.
    """

    n_failures: FloatArray
    lost_s: FloatArray
    restart_s: FloatArray
    checkpoint_s: FloatArray


def draw_failures(
    work_s: FloatArray,
    every_s: FloatArray,
    checkpoint_s: float,
    restart_s: float,
    startup_s: float,
    mtbf_s: FloatArray,
    rng: np.random.Generator,
) -> FailureDraws:
    """Draw what runs meet, without walking through their events.

    An interval is tried until no failure strikes, so the tries of many equal intervals are negative binomial, and what each failed
    one loses is an exponential time that is known to be shorter than the interval; the same holds for starts.

    Parameters
    ----------
    work_s : array
        Training and validation to do, any shape.
    every_s, mtbf_s : array
        Training time between checkpoints, and mean time between failures of the whole run (infinite: none); broadcast with it.
    checkpoint_s, restart_s, startup_s : float
        One checkpoint, one restart, the first start.

    Returns
    -------
    FailureDraws
    """
    work, every, mtbf = (np.asarray(each, float).ravel() for each in np.broadcast_arrays(work_s, every_s, mtbf_s))
    n_whole = np.floor(work / every * (1.0 + 1e-12))
    rest = np.maximum(work - n_whole * every, 0.0)
    rest = np.where(rest > 1e-9 * every, rest, 0.0)
    saved = (n_whole + (rest > 0.0)) * checkpoint_s
    tries = [(n_whole, every + checkpoint_s), ((rest > 0.0).astype(float), rest + checkpoint_s)]
    failed, lost = _failed_tries(tries, mtbf, rng)
    cut, cut_s = _failed_tries(
        [(failed, np.full(len(work), restart_s)), (np.ones(len(work)), np.full(len(work), startup_s))], mtbf, rng
    )
    shape = np.broadcast_shapes(np.shape(work_s), np.shape(every_s), np.shape(mtbf_s))
    found = (failed + cut, lost + cut_s, failed * restart_s, saved)
    return FailureDraws(*(each.reshape(shape) for each in found))


def _failed_tries(
    tries: list[tuple[FloatArray, FloatArray]], mtbf_s: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Failed tries of (how many must succeed, how long one takes), and the time that they lose, each of shape (n,)."""
    failed, lost = np.zeros(len(mtbf_s)), np.zeros(len(mtbf_s))
    for needed, length in tries:
        survival = np.exp(-np.minimum(length / mtbf_s, LONGEST_TRY))
        number = needed * (1.0 / survival - 1.0)
        some = (needed > 0.0) & (survival < 1.0) & (number < MOST_TRIES)
        number[some] = rng.negative_binomial(needed[some], survival[some])
        failed += number
        lost += _lost_times(number, length, mtbf_s, rng)
    return failed, lost


def _lost_times(number: FloatArray, length: FloatArray, mtbf_s: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Sums of so many exponential times that are shorter than ``length``, shape (n,)."""
    total = float(number.sum())
    if total == 0.0:
        return np.zeros(len(number))
    if total <= MOST_DRAWN:
        of = np.repeat(np.arange(len(number)), number.astype(np.int64))
        below = -np.expm1(-length / mtbf_s)[of]
        drawn = -mtbf_s[of] * np.log1p(-rng.random(len(of)) * below)
        return np.asarray(np.bincount(of, drawn, minlength=len(number)), dtype=np.float64)
    mean, variance = truncated_moments(length, mtbf_s)
    noise = np.sqrt(number * variance) * rng.standard_normal(len(number))
    return np.clip(number * mean + noise, 0.0, number * length)


def truncated_moments(length: FloatArray, mtbf_s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of an exponential time of mean ``mtbf_s`` that is shorter than ``length``; 0 where nothing fails."""
    share = np.where(np.isfinite(mtbf_s), np.minimum(length / mtbf_s, 300.0), 0.0)
    odds = np.divide(share, np.expm1(share), out=np.ones_like(share), where=share > 0.0)
    # Short of the mean time between failures a failure strikes anywhere alike.
    mean = np.where(share > 1e-4, mtbf_s * (1.0 - odds), length / 2.0)
    variance = np.where(share > 1e-2, np.square(mtbf_s) * (1.0 - np.square(odds) * np.exp(share)), np.square(length) / 12.0)
    return mean, np.maximum(variance, 0.0)
