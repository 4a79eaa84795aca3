"""Tail probabilities of a test statistic that was only seen because it fell into a set of intervals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaln, gammaincc, gammaln, hyp2f1, log_ndtr, ndtri, stdtrit

from mlperf.core.arrays import FloatArray, IntArray

TINY = 1e-280
N_BISECTIONS = 48
WIDEST = 200.0


class Pieces(NamedTuple):
    """Feasible intervals of several statistics, flat: ``owner`` says whose, ``lower`` and ``upper`` where; shape (n_pieces,)."""

    owner: IntArray
    lower: FloatArray
    upper: FloatArray


def feasible_pieces(quadratics: FloatArray, observed: FloatArray, *, signed: FloatArray) -> Pieces:
    """Where all quadratics c0 + c1 t + c2 t**2 <= 0 hold at once.

    Parameters
    ----------
    quadratics : array, shape (3, n_comparisons, n_tests)
        Coefficients c0, c1, c2 of every comparison for every test.
    observed : array, shape (n_tests,)
        The value t > 0 at which every comparison did hold; the piece that holds it is kept in spite of rounding.
    signed : array of bool, shape (n_tests,)
        Whether t may be negative.

    Returns
    -------
    Pieces
        Disjoint, increasing within each test.
    """
    c0, c1, c2 = quadratics
    n_tests = c0.shape[1]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        root = np.sqrt(np.maximum(c1 * c1 - 4.0 * c2 * c0, 0.0))
        pivot = -0.5 * (c1 + np.where(c1 >= 0.0, root, -root))
        first, second = pivot / c2, c0 / pivot
    left, right = np.fmin(first, second), np.fmax(first, second)
    unknown = np.isnan(first) | np.isnan(second) | (c1 * c1 < 4.0 * c2 * c0)
    opens_up, opens_down = (c2 >= 0.0) & ~unknown, (c2 < 0.0) & ~unknown
    floor = np.where(signed, -np.inf, 0.0)
    lowest = np.maximum(np.where(opens_up, left, -np.inf).max(axis=0, initial=-np.inf), floor)
    highest = np.where(opens_up, right, np.inf).min(axis=0, initial=np.inf)
    lowest, highest = np.minimum(lowest, observed), np.maximum(highest, observed)
    # Every comparison holds at the observed value: a gap that rounding has put over it is cut at it.
    gap_start = np.where(opens_down, left, np.inf)
    gap_end = np.where(opens_down, right, -np.inf)
    covers = (gap_start < observed) & (gap_end > observed)
    nearer_start = observed - gap_start < gap_end - observed
    gap_start = np.where(covers & ~nearer_start, np.inf, np.where(covers, observed, gap_start))
    gap_end = np.where(covers & ~nearer_start, -np.inf, gap_end)
    order = np.argsort(gap_start, axis=0)
    starts = np.take_along_axis(gap_start, order, axis=0)
    reached = np.maximum.accumulate(np.take_along_axis(gap_end, order, axis=0), axis=0)
    piece_start = np.maximum(np.vstack([np.full((1, n_tests), -np.inf), reached]), lowest)
    piece_end = np.minimum(np.vstack([starts, np.full((1, n_tests), np.inf)]), highest)
    # Comparisons without a gap sort last, at infinity: only the first of them ends a piece.
    follows = np.vstack([np.ones((1, n_tests), dtype=np.bool_), np.isfinite(starts)])
    owner, place = np.nonzero(((piece_start < piece_end) & follows).T)
    return Pieces(owner, piece_start[place, owner], piece_end[place, owner])


def log_tail(value: FloatArray, n_columns: FloatArray, df: float) -> FloatArray:
    """Logarithm of P(|d| / s > value) for a projection on ``n_columns`` dimensions and s**2 on ``df`` (inf: known).

    ``value**2 / n_columns`` is F(n_columns, df); right down to 1e-100000 and beyond.
    """
    value = np.asarray(value, dtype=np.float64)
    half = 0.5 * n_columns
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if np.isinf(df):
            return _log_gamma_tail(half, 0.5 * value * value)
        return log_beta_lower(0.5 * df, half, df / (df + value * value))


def log_beta_tail(share: FloatArray, n_columns: FloatArray, df: float) -> FloatArray:
    """Logarithm of P(B > share) for B of the Beta distribution (n_columns / 2, df / 2): the share of a projection."""
    return log_beta_lower(0.5 * df, 0.5 * n_columns, 1.0 - np.clip(share, 0.0, 1.0))


def log_beta_lower(a: float, b: FloatArray, x: FloatArray) -> FloatArray:
    """Logarithm of the regularised incomplete beta function I_x(a, b), by its series where it underflows."""
    b, x = np.broadcast_arrays(np.asarray(b, dtype=np.float64), np.asarray(x, dtype=np.float64))
    direct = betainc(a, b, x)
    with np.errstate(divide="ignore"):
        result = np.asarray(np.log(direct))
    small = (direct < TINY) & (x > 0.0)
    if small.any():
        b, x = b[small], x[small]
        series = hyp2f1(a + b, 1.0, a + 1.0, x)
        result[small] = a * np.log(x) + b * np.log1p(-x) - np.log(a) - betaln(a, b) + np.log(series)
    return result


def _log_gamma_tail(a: FloatArray, x: FloatArray) -> FloatArray:
    a, x = np.broadcast_arrays(np.asarray(a, dtype=np.float64), np.asarray(x, dtype=np.float64))
    direct = gammaincc(a, x)
    result = np.asarray(np.log(direct))
    small = (direct < TINY) & np.isfinite(x)
    if small.any():
        a, x = a[small], x[small]
        # Leading terms of the asymptotic series of the upper incomplete gamma function (x is above 600 here).
        result[small] = (a - 1.0) * np.log(x) - x - gammaln(a) + np.log1p((a - 1.0) / x + (a - 1.0) * (a - 2.0) / x**2)
    return result


def folded(pieces: Pieces) -> Pieces:
    """The same sets on the absolute value: negative parts mirrored, parts over zero split."""
    negative = pieces.lower < 0.0
    mirrored = Pieces(pieces.owner[negative], np.maximum(-pieces.upper[negative], 0.0), -pieces.lower[negative])
    positive = pieces.upper > 0.0
    plain = Pieces(pieces.owner[positive], np.maximum(pieces.lower[positive], 0.0), pieces.upper[positive])
    return Pieces(*(np.concatenate([first, second]) for first, second in zip(plain, mirrored, strict=True)))


def truncated_p_values(
    pieces: Pieces, observed: FloatArray, log_upper: FloatArray, log_lower: FloatArray, log_seen: FloatArray
) -> FloatArray:
    """Mass of the pieces beyond the observed value over the mass of the pieces.

    Parameters
    ----------
    pieces : Pieces
        On the absolute value, see `folded`.
    observed : array, shape (n_tests,)
    log_upper, log_lower : array, shape (n_pieces,)
        Log tail probability beyond the upper and the lower end of each piece.
    log_seen : array, shape (n_tests,)
        Log tail probability beyond the observed value.

    Returns
    -------
    array, shape (n_tests,)
        In [0, 1]; NaN where a test has no piece.
    """
    seen = log_seen[pieces.owner]
    whole = _log_difference(log_lower, log_upper)
    beyond = np.where(pieces.upper > observed[pieces.owner], _log_difference(np.minimum(log_lower, seen), log_upper), -np.inf)
    peak = np.full(len(observed), -np.inf)
    np.maximum.at(peak, pieces.owner, whole)
    shift = np.where(np.isfinite(peak), peak, 0.0)[pieces.owner]
    total = np.bincount(pieces.owner, np.exp(whole - shift), minlength=len(observed))
    part = np.bincount(pieces.owner, np.exp(beyond - shift), minlength=len(observed))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.clip(part / total, 0.0, 1.0)


def _log_difference(larger: FloatArray, smaller: FloatArray) -> FloatArray:
    """log(exp(larger) - exp(smaller))."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.where(np.isneginf(smaller), -np.inf, smaller - larger)
        return np.where(np.isneginf(larger), -np.inf, larger + np.log(-np.expm1(np.minimum(gap, 0.0))))


def selective_bounds(pieces: Pieces, observed: FloatArray, df: float, level: float) -> tuple[FloatArray, FloatArray]:
    """Bounds of the mean of a truncated normal by inverting its tail.

    Parameters
    ----------
    pieces : Pieces
        Signed, in standard errors.
    observed : array, shape (n_tests,)
        In standard errors.
    df : float
        Degrees of freedom of the standard error: the normal is widened so that an untruncated statistic gets exactly its
        Student interval.
    level : float

    Returns
    -------
    lower, upper : array, shape (n_tests,)
        In standard errors; infinite where even a mean 200 standard errors away does not reach the level, or a test has no piece.

    References
    ----------
    Lee, Sun, Sun and Taylor (2016), Exact post-selection inference, section 5: P(t > observed | t in the set) rises with the mean.
    """
    tail = 0.5 - level / 2.0
    widening = 1.0 if np.isinf(df) else float(stdtrit(df, 1.0 - tail) / ndtri(1.0 - tail))
    n_tests = len(observed)
    # Both bounds of every test are sought at once.
    wanted = np.repeat([tail, 1.0 - tail], n_tests)
    seen = np.tile(observed / widening, 2)
    owner = np.concatenate([pieces.owner, pieces.owner + n_tests])
    both = Pieces(owner, np.tile(pieces.lower / widening, 2), np.tile(pieces.upper / widening, 2))
    low, high = seen - WIDEST, seen + WIDEST
    for _ in range(N_BISECTIONS):
        middle = 0.5 * (low + high)
        rises = _tail_share(both, seen, middle) < wanted
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    bounds = np.where(np.abs(middle - seen) > 0.99 * WIDEST, np.copysign(np.inf, middle - seen), middle) * widening
    told = np.bincount(pieces.owner, minlength=n_tests) > 0
    return np.where(told, bounds[:n_tests], -np.inf), np.where(told, bounds[n_tests:], np.inf)


def _tail_share(pieces: Pieces, seen: FloatArray, mean: FloatArray) -> FloatArray:
    """P(t > seen | t in the pieces) of a normal with this mean and standard deviation 1."""
    centre = mean[pieces.owner]
    lower, upper = pieces.lower - centre, pieces.upper - centre
    from_seen = np.maximum(lower, seen[pieces.owner] - centre)
    # The mass of the pieces, and of what of them lies beyond.
    masses = _log_normal_mass(np.concatenate([lower, from_seen]), np.concatenate([upper, np.maximum(upper, from_seen)]))
    whole, beyond = masses[: len(lower)], np.where(from_seen < upper, masses[len(lower) :], -np.inf)
    peak = np.full(len(seen), -np.inf)
    np.maximum.at(peak, pieces.owner, whole)
    shift = peak[pieces.owner]
    total = np.bincount(pieces.owner, np.exp(whole - shift), minlength=len(seen))
    part = np.bincount(pieces.owner, np.exp(beyond - shift), minlength=len(seen))
    shares: FloatArray = np.divide(part, total, out=np.full(len(seen), np.nan), where=total > 0.0)
    return shares


def _log_normal_mass(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """log(Phi(upper) - Phi(lower)), taken in the tail where it does not cancel."""
    swap = lower > -upper
    near, far = np.where(swap, -upper, lower), np.where(swap, -lower, upper)
    return _log_difference(log_ndtr(far), log_ndtr(near))
