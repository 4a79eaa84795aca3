"""One pass over the data: the triangle of [1 X y], from which every smaller model follows without the data."""

from __future__ import annotations

from dataclasses import dataclass

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import FitError
from mlperf.core.threads import one_blas_thread
from mlperf.models.algebra.blockqr import block_triangle
from mlperf.models.algebra.gram import gram_triangle
from mlperf.models.algebra.scaling import powers_of_two

# Below this many rows the QR of everything is as fast as products and needs no second look.
QR_ROWS = 2000


@dataclass(frozen=True, slots=True, eq=False)
class Triangle:
    """The triangular factor of the scaled, weighted [1 X y].

    Column order: the constant (where there is one), the columns of X, y. Columns are counted from 0 with the
    constant as column 0.

    Parameters
    ----------
    r : array, shape (n_columns + 1, n_columns + 1)
        Upper triangular; ``r.T @ r`` is the cross-product of ``[1 X y] / scale`` with rows times sqrt(weight).
    scale : array, shape (n_columns + 1,)
        Powers of two: a coefficient of the data is ``b_scaled[j] * scale[-1] / scale[j]``.
    norms : array, shape (n_columns + 1,)
        Euclidean norms of the scaled, weighted columns, not centred: what R's rule for aliasing compares with.
    intercept : bool
    n_samples : int
        All rows, those of weight zero included (R's n in AIC).
    n_weighted : int
        Rows of positive weight.
    path : {"qr", "gram"}
        How the factor was made.
    """

    r: FloatArray
    scale: FloatArray
    norms: FloatArray
    intercept: bool
    n_samples: int
    n_weighted: int
    path: str

    @property
    def n_columns(self) -> int:
        """Columns without y, the constant included."""
        return len(self.scale) - 1

    @property
    def tss(self) -> float:
        """Sum of squares of scaled y: about its weighted mean with a constant, about zero without."""
        start = 1 if self.intercept else 0
        return float(self.r[start:, -1] @ self.r[start:, -1])

    @property
    def rss_unit(self) -> float:
        """Factor from squares of scaled y to squares of y."""
        return float(self.scale[-1]) ** 2


def triangle(X: FloatArray, y: FloatArray, w: FloatArray | None = None, *, intercept: bool = True, path: str = "auto") -> Triangle:
    """Factor [1 X y] in one pass.

    Columns are scaled by powers of two, which loses no digit. Tall, well-conditioned data go through cross-products of
    blocks (about the mean where that matters) with one pass of refinement; everything else, and what the products turn
    out to be too ill-conditioned for, goes through Householder QR of row blocks.

    Parameters
    ----------
    X : array, shape (n_samples, n_features)
        Without the constant.
    y : array, shape (n_samples,)
    w : array, shape (n_samples,), optional
        Precision weights >= 0; rows of weight zero are left out of the factor but counted in ``n_samples``.
    intercept : bool
    path : {"auto", "qr", "gram"}
        ``gram`` still falls back to QR where the condition demands it.

    Raises
    ------
    FitError
        Where no row has a positive weight.
    """
    n_samples = len(y)
    if w is not None:
        used = w > 0
        if not used.all():
            X, y, w = X[used], y[used], w[used]
        if len(y) == 0:
            raise FitError("got no row of positive weight, expected at least one")
    n_columns = X.shape[1] + intercept
    with one_blas_thread():
        if path == "gram" or (path == "auto" and len(y) > max(QR_ROWS, 10 * n_columns)):
            made = gram_triangle(X, y, w, intercept=intercept)
            if made is not None:
                return Triangle(*made, intercept, n_samples, len(y), "gram")
        return Triangle(*block_triangle(X, y, w, intercept=intercept), intercept, n_samples, len(y), "qr")


__all__ = ["Triangle", "powers_of_two", "triangle"]
