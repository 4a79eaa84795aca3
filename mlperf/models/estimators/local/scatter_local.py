"""A small weighted linear model around every query, for measurements that form no grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlperf.core.arrays import FloatArray
from mlperf.models.algebra.small_system import RelativeFit
from mlperf.models.estimators.local.local_model import LocalModel, TrainingRows
from mlperf.models.estimators.local.neighbours import Neighbours, Prior, local_linear, relative_scale


@dataclass(eq=False, repr=False)
class ScatterLocal(LocalModel):
    """Linear model of the same terms on the k nearest rows in log2 sizes.

    Residuals are relative (weights 1/y**2); a ridge on terms scaled by their relative contribution pulls to the global weighted
    fit, so that eight rows are enough for eight terms; the answer stays within ``clip`` of the neighbours' range. Inside dense
    measurements it beats every global form; outside them the global weighted model does, and `RatioLocal` joins both.

    Parameters
    ----------
    terms : sequence of str, optional
        Arithmetic expressions over columns (``"m * n * k"``); default every column.
    sizes : sequence of str, optional
        Columns whose log2 is the distance; default every column. Two-valued columns and factors separate.
    k : int or "auto"
        Neighbours; "auto" takes the best of ``candidates`` on left-out training rows.
    candidates : sequence of int
        For "auto".
    ridge : float
        Share of the mean diagonal that is added to the diagonal.
    clip : tuple of float
        Factors on the smallest and the largest neighbour.
    n_folds : int
        Of the choice of k and of the errors behind intervals; below 2 neither is made.
    seed : int
        Of the folds.
    """

    terms: Sequence[str] | None = None
    sizes: Sequence[str] | None = None
    k: int | str = "auto"
    candidates: Sequence[int] = (8, 12, 16, 32)
    ridge: float = 0.05
    clip: tuple[float, float] = (0.25, 4.0)
    n_folds: int = 5
    seed: int = 0

    def _learn(self, measured: TrainingRows) -> Prior:
        scale = relative_scale(measured.design, measured.y)
        return Prior(RelativeFit.of(measured.design, measured.y).coef * scale, scale)

    def _answer(self, learned: Prior, measured: TrainingRows, query: TrainingRows, near: Neighbours) -> FloatArray:
        low, high = self.clip
        return local_linear(
            measured.design, measured.y, near, query.design, prior=learned, ridge=self.ridge, clip=(float(low), float(high))
        )
