"""A global model times what its neighbours say it is off by: right inside the measurements, sane outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from mlperf.core.arrays import FloatArray
from mlperf.models.algebra.small_system import RelativeFit
from mlperf.models.estimators.local.local_model import LocalModel, TrainingRows
from mlperf.models.estimators.local.neighbours import Neighbours, mean_log_ratio
from mlperf.models.storage.store import model_from_dict, model_to_dict


@dataclass(frozen=True, slots=True, eq=False)
class GlobalPart:
    """The fitted global model (``RelativeFit`` or an estimator), its ``floor``, and log(measured / global) of each row."""

    model: Any
    floor: float
    log_ratio: FloatArray

    def predict(self, rows: TrainingRows) -> FloatArray:
        """Global times, shape (n_rows,), at least ``floor``."""
        inputs = rows.design if isinstance(self.model, RelativeFit) else rows.frame
        return np.asarray(np.maximum(self.model.predict(inputs), self.floor))


@dataclass(eq=False, repr=False)
class RatioLocal(LocalModel):
    """Global weighted model times exp of the distance-weighted mean of log(measured / global) over the k nearest rows.

    Parameters
    ----------
    terms : sequence of str, optional
        Arithmetic expressions over columns of the global model; default every column.
    sizes : sequence of str, optional
        Columns whose log2 is the distance; default every column. Two-valued columns and factors separate.
    base : estimator, optional
        Global model fitted on the columns; default least squares of relative residuals on ``terms``.
    k : int or "auto"
        Neighbours; "auto" takes the best of ``candidates`` on left-out training rows.
    candidates : sequence of int
        For "auto".
    n_folds : int
        Of the choice of k and of the errors behind intervals; below 2 neither is made.
    seed : int
        Of the folds.
    """

    terms: Sequence[str] | None = None
    sizes: Sequence[str] | None = None
    base: Any = None
    k: int | str = 8
    candidates: Sequence[int] = (4, 8, 16)
    n_folds: int = 5
    seed: int = 0

    def _learn(self, measured: TrainingRows) -> GlobalPart:
        if self.base is None:
            return global_part(RelativeFit.of(measured.design, measured.y), measured)
        return global_part(clone(self.base).fit(measured.frame, measured.y), measured)

    def _stored_base(self) -> dict[str, Any] | None:
        return None if self.base is None else model_to_dict(self.learned_.model)

    def _restore(self, stored: Any, path: str) -> None:
        if stored is None:
            super()._restore(stored, path)
            return
        self.learned_ = global_part(model_from_dict(stored, path), self.measured_)
        self.base = self.learned_.model

    def _answer(self, learned: GlobalPart, measured: TrainingRows, query: TrainingRows, near: Neighbours) -> FloatArray:
        del measured
        return learned.predict(query) * np.exp(mean_log_ratio(learned.log_ratio, near))


def global_part(model: Any, measured: TrainingRows) -> GlobalPart:
    """A fitted global model with its log ratios on the measured rows."""
    part = GlobalPart(model, float(measured.y.min()) / 4.0, np.empty(0))
    return GlobalPart(model, part.floor, np.log(measured.y / part.predict(measured)))
