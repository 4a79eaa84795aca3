"""What the house asks of an estimator, and how one is fitted with or without groups of rows."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from mlperf.core.arrays import FloatArray


class Predictor(Protocol):
    """A fitted model: ``predict(X)`` gives times of shape (n_rows,) in the unit of y.

    Most also have ``in_domain(X)``, ``predict_interval(X, kind=..., level=...)`` and ``sample(X, rng, size, kind)``; who asks a
    model that may lack one of them says what its answer is then.
    """

    def predict(self, X: Any, /) -> FloatArray:
        """Times of the rows of X, shape (n_rows,)."""
        ...


class Regressor(Protocol):
    """An unfitted model: ``fit(X, y)`` returns the fitted one.

    Those with the attribute ``uses_groups`` also take ``groups``: what is left out together where they test themselves.
    """

    def fit(self, X: Any, y: Any, /) -> Predictor:
        """Fit to rows X, shape (n_rows, n_columns), and times y, shape (n_rows,)."""
        ...


def fit_in_groups(estimator: Any, X: Any, y: ArrayLike, groups: ArrayLike | None) -> Any:
    """Fit an estimator, and tell it the groups if it is one that uses them.

    Parameters
    ----------
    estimator : Regressor
    X : DataFrame or array, shape (n_rows, n_columns)
    y : array, shape (n_rows,)
    groups : array-like, shape (n_rows,), or None
        Equal values belong together; None leaves the estimator its default.

    Returns
    -------
    Predictor
        What ``fit`` returns.
    """
    if groups is not None and getattr(estimator, "uses_groups", False):
        return estimator.fit(X, y, groups=np.asarray(groups))
    return estimator.fit(X, y)
