"""A bracketing root finder on arrays: many scalar equations at once, each converging on its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import FitError

Residual = Callable[[FloatArray, IntArray], FloatArray]


@dataclass(slots=True)
class _Brackets:
    """Per row the newest point 1, the other end 2 and the point before, 3, of Chandrupatla's method."""

    rows: IntArray
    x1: FloatArray
    f1: FloatArray
    x2: FloatArray
    f2: FloatArray
    x3: FloatArray
    f3: FloatArray

    def take(self, keep: BoolArray) -> _Brackets:
        return _Brackets(*(getattr(self, name)[keep] for name in self.__slots__))


def decreasing_root(
    residual: Residual, guess: FloatArray, *, bound: float = 28.0, x_tolerance: float = 1e-14, f_tolerance: float = 1e-15
) -> FloatArray:
    """Roots of functions that are positive left and negative right of their root.

    Parameters
    ----------
    residual : callable
        ``residual(x, rows)`` gives the values of the functions ``rows`` (indices) at ``x``, both of shape (n_active,).
    guess : array, shape (n,)
        Where to start looking.
    bound : float
        The roots lie in [-bound, bound].
    x_tolerance, f_tolerance : float
        A row is done when its bracket is this short or its value this small.

    Returns
    -------
    array, shape (n,)
        The roots.

    Raises
    ------
    FitError
        A function does not change sign in [-bound, bound].

    References
    ----------
    Chandrupatla (1997), Advances in Engineering Software 28(3): inverse quadratic interpolation where it is safe,
    bisection elsewhere; the bracket never opens.
    """
    root = np.array(guess, dtype=np.float64)
    active = _bracket(residual, root, bound)
    while active.rows.size:
        best = np.where(np.abs(active.f1) < np.abs(active.f2), active.x1, active.x2)
        smallest = np.minimum(np.abs(active.f1), np.abs(active.f2))
        width = np.abs(active.x2 - active.x1)
        tolerance = x_tolerance + 4e-16 * np.abs(best)
        done = (smallest <= f_tolerance) | (width <= 2.0 * tolerance)
        if done.any():
            root[active.rows[done]] = best[done]
            active = active.take(~done)
            width, tolerance = width[~done], tolerance[~done]
            if not active.rows.size:
                break
        least = tolerance / width
        fraction = np.clip(_interpolated_fraction(active), least, 1.0 - least)
        _narrow(active, residual, active.x1 + fraction * (active.x2 - active.x1))
    return root


def _interpolated_fraction(at: _Brackets) -> FloatArray:
    """Where between point 1 (0) and point 2 (1) to look next."""
    with np.errstate(divide="ignore", invalid="ignore"):
        xi = (at.x1 - at.x2) / (at.x3 - at.x2)
        phi = (at.f1 - at.f2) / (at.f3 - at.f2)
        safe = (phi * phi < xi) & ((1.0 - phi) ** 2 < 1.0 - xi)
        first = at.f1 / (at.f2 - at.f1) * at.f3 / (at.f2 - at.f3)
        second = (at.x3 - at.x1) / (at.x2 - at.x1) * at.f1 / (at.f3 - at.f1) * at.f2 / (at.f3 - at.f2)
    no_third_point = at.x3 == at.x2
    return np.where(no_third_point, at.f1 / (at.f1 - at.f2), np.where(safe, first + second, 0.5))


def _narrow(at: _Brackets, residual: Residual, x: FloatArray) -> None:
    f = residual(x, at.rows)
    same = (f > 0.0) == (at.f1 > 0.0)
    at.x3, at.f3 = np.where(same, at.x1, at.x2), np.where(same, at.f1, at.f2)
    at.x2, at.f2 = np.where(same, at.x2, at.x1), np.where(same, at.f2, at.f1)
    at.x1, at.f1 = x, f


def _bracket(residual: Residual, guess: FloatArray, bound: float) -> _Brackets:
    """Walk from the guess to the side where the sign changes, with steps that double."""
    rows = np.arange(guess.size)
    start = residual(guess, rows)
    x1, f1 = guess.copy(), start.copy()
    x2, f2 = guess.copy(), start.copy()
    step = 1.5 * start + np.where(start > 0.0, 1e-3, -1e-3)
    walking = rows
    while walking.size:
        x1[walking], f1[walking] = x2[walking], f2[walking]
        x2[walking] = np.clip(x1[walking] + step[walking], -bound, bound)
        f2[walking] = residual(x2[walking], walking)
        step[walking] *= 2.0
        same = (f2[walking] > 0.0) == (f1[walking] > 0.0)
        stuck = same & (np.abs(x2[walking]) >= bound)
        if stuck.any() or not np.isfinite(f2[walking]).all():
            _no_root(walking[stuck | ~np.isfinite(f2[walking])], bound)
        walking = walking[same]
    return _Brackets(rows, x2, f2, x1, f1, x1.copy(), f1.copy())


def _no_root(rows: IntArray, bound: float) -> None:
    raise FitError(
        f"got no sign change within exp(+-{bound:g}) for {rows.size} configurations, the first in row {rows[0]}",
        hint="The times of the two threads differ by more than twelve orders of magnitude: check their units.",
    )
