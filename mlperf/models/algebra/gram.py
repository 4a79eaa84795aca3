"""The triangle by cross-products of blocks: half the work of QR, refined once, refused where digits would be lost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import lapack

from mlperf.core.arrays import FloatArray
from mlperf.models.algebra.scaling import powers_of_two

# Products run fastest on blocks of a few megabytes, whose panels the BLAS packs into the caches itself.
BLOCK_BYTES = 2_000_000
PROBE_ROWS = 4096
# A mean of more than this many standard deviations is taken out before the products.
SHIFT_RATIO = 10.0
# Beyond this condition, or below this share of a column not explained by the others, only QR is trusted.
MAX_CONDITION = 1e5
MIN_RESIDUAL = 1e-5
# Products of columns this well conditioned, that leave this share of y unexplained, are right to eleven digits as they are.
MILD_CONDITION = 200.0
MILD_REMAINDER = 1e-3


def gram_triangle(
    X: FloatArray, y: FloatArray, w: FloatArray | None, *, intercept: bool
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Triangle of the scaled, weighted [1 X y] from cross-products, or None where it is too ill-conditioned.

    Returns
    -------
    r : array, shape (n_columns + 1, n_columns + 1)
    scale : array, shape (n_columns + 1,)
    norms : array, shape (n_columns + 1,)
        Of the scaled columns.

    References
    ----------
    Björck (1996), Numerical Methods for Least Squares Problems, section 6.6 (corrected semi-normal equations).
    """
    shift, shift_y = _shift(X, y) if intercept else (np.zeros(X.shape[1]), 0.0)
    gram, sums, total = _products(X, y, w, shift, shift_y)
    shifts = np.append(shift, shift_y)
    raw = np.diag(gram) + 2.0 * shifts * sums + shifts**2 * total
    if not (np.isfinite(raw).all() and (raw[:-1] > 0).all()):
        return None
    norms = np.sqrt(np.maximum(raw, 0.0))
    scale = powers_of_two(norms)
    gram = gram / scale / scale[:, None]
    means = (shifts + sums / total) / scale
    if intercept:
        gram -= np.outer(sums / scale, sums / scale) / total
    made = _factor(gram, norms / scale, X.shape[1])
    if made is None:
        return None
    factor, mild = made
    if not mild:
        factor = _refined(factor, X, y, w, scale, means if intercept else np.zeros_like(means))
    if not intercept:
        return factor, scale, norms / scale
    root = np.sqrt(total)
    unit = powers_of_two(np.array([root]))
    whole = np.zeros((len(scale) + 1, len(scale) + 1))
    whole[1:, 1:] = factor
    whole[0, 0] = root / unit[0]
    whole[0, 1:] = root * means
    return whole, np.concatenate([unit, scale]), np.concatenate([[root / unit[0]], norms / scale])


def _shift(X: FloatArray, y: FloatArray) -> tuple[FloatArray, float]:
    probe, probe_y = X[:PROBE_ROWS], y[:PROBE_ROWS]
    means, spread = probe.mean(axis=0), probe.std(axis=0)
    mean_y, spread_y = float(probe_y.mean()), float(probe_y.std())
    if (np.abs(means) <= SHIFT_RATIO * spread).all() and abs(mean_y) <= SHIFT_RATIO * spread_y:
        return np.zeros_like(means), 0.0
    return means, mean_y


def _blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    step = max(512, BLOCK_BYTES // (8 * (n_columns + 1)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _products(
    X: FloatArray, y: FloatArray, w: FloatArray | None, shift: FloatArray, shift_y: float
) -> tuple[FloatArray, FloatArray, float]:
    n_features = X.shape[1]
    shifted = bool(shift.any()) or shift_y != 0.0
    gram = np.zeros((n_features + 1, n_features + 1))
    sums = np.zeros(n_features + 1)
    total = float(len(y)) if w is None else float(w.sum())
    for rows in _blocks(len(y), n_features):
        part, response = X[rows], y[rows]
        if shifted:
            part, response = part - shift, response - shift_y
        sides = np.column_stack([response, np.ones(len(response))])
        if w is not None:
            root = np.sqrt(w[rows])[:, None]
            part, sides = part * root, sides * root
        gram[:-1, :-1] += part.T @ part
        side = part.T @ sides
        gram[:-1, -1] += side[:, 0]
        sums[:-1] += side[:, 1]
        gram[-1, -1] += sides[:, 0] @ sides[:, 0]
        sums[-1] += sides[:, 0] @ sides[:, 1]
    gram[-1, :-1] = gram[:-1, -1]
    return gram, sums, total


def _factor(gram: FloatArray, norms: FloatArray, n_features: int) -> tuple[FloatArray, bool] | None:
    """Upper Cholesky factor with y as its last column and whether it needs no refinement; None where the condition forbids it."""
    squares = np.diag(gram)[:n_features]
    if n_features and not (squares > 0).all():
        return None
    lengths = np.sqrt(squares)
    correlation = gram[:n_features, :n_features] / lengths / lengths[:, None]
    factor, info = lapack.dpotrf(correlation, lower=0)
    if info != 0:
        return None
    reciprocal = 1.0
    if n_features:
        reciprocal = float(lapack.dtrcon(factor)[0])
        if reciprocal * MAX_CONDITION < 1.0 or (np.diag(factor) * lengths < MIN_RESIDUAL * norms[:n_features]).any():
            return None
    whole = np.zeros_like(gram)
    whole[:n_features, :n_features] = factor * lengths
    side = lapack.dtrtrs(factor, gram[:n_features, -1:] / lengths[:, None], trans=1)[0] if n_features else gram[:0, -1:]
    whole[:n_features, -1:] = side
    remainder = float(gram[-1, -1] - side[:, 0] @ side[:, 0])
    whole[-1, -1] = np.sqrt(max(remainder, 0.0))
    return whole, reciprocal * MILD_CONDITION > 1.0 and remainder > MILD_REMAINDER * float(gram[-1, -1])


def _refined(
    factor: FloatArray, X: FloatArray, y: FloatArray, w: FloatArray | None, scale: FloatArray, means: FloatArray
) -> FloatArray:
    """One step of corrected semi-normal equations: the y column of the factor from real residuals."""
    n_features = X.shape[1]
    upper = factor[:n_features, :n_features]
    solution = lapack.dtrtrs(upper, factor[:n_features, -1:])[0][:, 0] if n_features else factor[:0, -1]
    slopes = solution / scale[:-1]
    level = means[-1] - means[:-1] @ solution
    gradient, rss, total = np.zeros(n_features), 0.0, 0.0
    for rows in _blocks(len(y), n_features):
        part = X[rows]
        residual = y[rows] / scale[-1] - part @ slopes - level
        weighted = residual if w is None else residual * w[rows]
        gradient += weighted @ part
        total += float(weighted.sum())
        rss += float(residual @ weighted)
    if means.any():
        weight = float(len(y)) if w is None else float(w.sum())
        gradient = gradient / scale[:-1] - means[:-1] * total
        rss -= total**2 / weight
    else:
        gradient = gradient / scale[:-1]
    correction = lapack.dtrtrs(upper, gradient[:, None], trans=1)[0][:, 0] if n_features else gradient
    factor[:n_features, -1] += correction
    factor[-1, -1] = np.sqrt(max(rss - float(correction @ correction), 0.0))
    return factor
