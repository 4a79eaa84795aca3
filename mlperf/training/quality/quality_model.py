"""Epochs to a target accuracy as a function of mean mini-batch size and staleness: a fitted model, stored as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import UsageError
from mlperf.core.json_fields import Fields, frame_from_dict
from mlperf.core.shown import Shown, plain
from mlperf.models import CensoredNormal
from mlperf.models.storage.store import envelope, model_from_dict, model_to_dict
from mlperf.training.fits.left_out import LeftOutError, left_out_from_dict
from mlperf.training.quality.judgement import LIMIT, NodeJudgement

KIND = "mlperf-quality"
SUBBATCH = "subbatch_size"


@dataclass(frozen=True, slots=True, eq=False)
class EpochsToTarget(Shown):
    """Epochs until the target; arrays of one shape.

    Attributes
    ----------
    epochs : array
        Median over runs.
    lower, upper : array
        Prediction interval: of one run.
    mean_lower, mean_upper : array
        Confidence interval: of the fitted curve.
    in_domain : array of bool
        Whether mini-batch and staleness lie inside what was measured.
    """

    epochs: FloatArray
    lower: FloatArray
    upper: FloatArray
    mean_lower: FloatArray
    mean_upper: FloatArray
    in_domain: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class QualityModel(Shown):
    """Epochs to a target accuracy, fitted on runs of the asynchronous trainer.

    Attributes
    ----------
    target_accuracy : float
        A fraction.
    estimator : CensoredNormal
        Of log(epochs), on functions of mini-batch, staleness and sub-batch; `StepwiseOLS` in models of earlier releases.
    rows : DataFrame
        One row a run: setting, ``mean_minibatch_size``, ``staleness``, ``epochs_to_target`` (NaN: censored), ``predicted_epochs``.
    n_settings, n_censored : int
        Settings measured; runs that ended before the target, of which only that is known.
    errors : LeftOutError or None
        Of left-out settings, selection repeated inside each fold; relative errors of epochs.
    judgement : NodeJudgement or None
        Of left-out node counts; None where they could not be left out.
    provenance : mapping
        Data SHA-256, versions, host, command.
    """

    target_accuracy: float
    estimator: Any
    rows: pd.DataFrame
    n_settings: int
    n_censored: int
    errors: LeftOutError | None
    provenance: Mapping[str, Any]
    judgement: NodeJudgement | None = None

    @property
    def experimental(self) -> str | None:
        """Why its answers are experimental, with the measured factor; None where left-out node counts are told well enough."""
        if self.judgement is None:
            return "experimental: epochs were never judged on a number of nodes that was left out"
        if self.judgement.holds:
            return None
        factor = f"{self.judgement.factor:.3g}"
        return f"experimental: on left-out numbers of nodes epochs are off by a factor of {factor}, at most {LIMIT:g} is asked"

    @property
    def knows_subbatch(self) -> bool:
        """Whether the sub-batch size is one of its columns."""
        return SUBBATCH in [str(name) for name in getattr(self.estimator, "feature_names_in_", ())]

    def epochs(
        self,
        minibatch: FloatArray | float,
        staleness: FloatArray | float,
        subbatch_size: FloatArray | IntArray | float | None = None,
    ) -> FloatArray:
        """Median epochs to the target; mean mini-batch and sub-batch in samples, staleness in updates, shapes that broadcast."""
        shape, frame = self._inputs(minibatch, staleness, subbatch_size)
        return np.asarray(np.exp(self.estimator.predict(frame)).reshape(shape))

    def predict(
        self,
        minibatch: FloatArray | float,
        staleness: FloatArray | float,
        subbatch_size: FloatArray | IntArray | float | None = None,
        level: float = 0.95,
    ) -> EpochsToTarget:
        """Epochs to the target with both intervals and the domain flag.

        Parameters
        ----------
        minibatch : array
            Mean mini-batch size, samples > 0.
        staleness : array
            Mean staleness, updates >= 0; broadcasts with ``minibatch``.
        subbatch_size : array, optional
            Samples of a gradient; needed where the model knows it.
        level : float
            Of the intervals.
        """
        shape, frame = self._inputs(minibatch, staleness, subbatch_size)
        run, mean = (self.estimator.predict_interval(frame, kind=kind, level=level) for kind in ("run", "mean"))
        bounds = {"lower": run.lower, "upper": run.upper, "mean_lower": mean.lower, "mean_upper": mean.upper}
        return EpochsToTarget(
            epochs=self.epochs(minibatch, staleness, subbatch_size),
            in_domain=np.asarray(self.estimator.in_domain(frame), bool).reshape(shape),
            **{name: np.exp(bound).reshape(shape) for name, bound in bounds.items()},
        )

    def to_dict(self) -> dict[str, Any]:
        """The document that `mlperf.save_model` writes."""
        return {
            **envelope(KIND),
            "target_accuracy": self.target_accuracy,
            "model": model_to_dict(self.estimator),
            "rows": plain(self.rows),
            "n_settings": self.n_settings,
            "n_censored": self.n_censored,
            "errors": plain(self.errors),
            "provenance": plain(self.provenance),
            **self._judged(),
        }

    def _judged(self) -> dict[str, Any]:
        """The judgement and what it says; models of earlier releases, which were never judged, are written as they were."""
        if not isinstance(self.estimator, CensoredNormal):
            return {}
        return {"judgement": plain(self.judgement), "experimental": self.experimental}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> QualityModel:
        """The model again from a document without its envelope; raises DataError with the JSON path of what is wrong."""
        with Fields(document, path) as fields:
            judged = not (fields.missing("judgement") or fields.absent("judgement"))
            if not fields.missing("experimental"):
                # Follows from the judgement.
                fields.raw("experimental")
            return cls(
                target_accuracy=fields.number("target_accuracy", lower=0.0, upper=1.0),
                estimator=model_from_dict(fields.raw("model"), "$.model"),
                rows=frame_from_dict(fields.raw("rows"), "$.rows"),
                n_settings=fields.integer("n_settings"),
                n_censored=fields.integer("n_censored"),
                errors=left_out_from_dict(fields.raw("errors"), "$.errors"),
                provenance=dict(fields.raw("provenance")),
                judgement=NodeJudgement.from_dict(fields.raw("judgement"), "$.judgement") if judged else None,
            )

    def to_frame(self) -> pd.DataFrame:
        """The runs, one row each."""
        return self.rows

    def _inputs(self, minibatch: Any, staleness: Any, subbatch_size: Any) -> tuple[tuple[int, ...], pd.DataFrame]:
        """Common shape, and the columns that the terms read, one row a configuration."""
        columns = {"mean_minibatch_size": minibatch, "staleness": staleness}
        if self.knows_subbatch:
            if subbatch_size is None:
                raise UsageError("got no sub-batch size, expected one: epochs depend on it")
            columns[SUBBATCH] = subbatch_size
        arrays = np.broadcast_arrays(*(np.asarray(each, float) for each in columns.values()))
        return arrays[0].shape, pd.DataFrame({name: each.ravel() for name, each in zip(columns, arrays, strict=True)})
