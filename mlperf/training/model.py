"""A trained campaign: gradient model, components and what they were trained on, stored as one JSON file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from mlperf.core.json_fields import Fields, frame_from_dict
from mlperf.core.shown import Shown, plain
from mlperf.models import GridLocal
from mlperf.models.storage.store import envelope, model_from_dict, model_to_dict
from mlperf.models.uncertainty.domain import Domain
from mlperf.systems.sprint.components import FITTED
from mlperf.training.characteristics.stored import Characteristics
from mlperf.training.components.component_fit import ComponentModel
from mlperf.training.fits.left_out import left_out_from_dict
from mlperf.training.fits.ratio_model import fits_from_dict, fits_to_dict, scaled_from_dict, scaled_to_dict
from mlperf.training.gradient.call_gaps import CallGaps
from mlperf.training.gradient.gradient import EXPLAINED, GradientModel
from mlperf.training.gradient.launches import Launches
from mlperf.training.gradient.score import GradientScore
from mlperf.training.gradient.work_model import WorkModel
from mlperf.training.measured_on import MeasuredOn
from mlperf.training.part_report import PartReport, component_part, kernel_part, parts_frame
from mlperf.training.run_model import RunModel

LARGEST_SPREAD = 100.0
"""Standard deviation of a step over its mean; no measured step scatters so, and what waits for it could not be counted."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Model(Shown):
    """What `mlperf.train` returns for a campaign.

    Attributes
    ----------
    gradient : GradientModel or WorkModel
        Times of kernel calls; of whole steps where no kernel was measured.
    score : GradientScore
        How well the gradient time of a left-out CNN is predicted.
    components : mapping
        Fitted components of Tables 3 and 4 by name; `absent` lists the others.
    runs : RunModel or None
        Costs in place, where asynchronous runs were measured; they predict, and ``components`` explain.
    cnns : tuple of str
        Trained on these.
    noise, seed
        Settings of the fit.
    provenance : mapping
        Data SHA-256, versions, host, command.
    measured_on : MeasuredOn or None
        The machine behind the times of a step; None in files of releases that did not record it.
    """

    gradient: GradientModel | WorkModel
    score: GradientScore
    components: Mapping[str, ComponentModel]
    runs: RunModel | None
    cnns: tuple[str, ...]
    noise: str
    seed: int
    provenance: Mapping[str, Any]
    measured_on: MeasuredOn | None = None

    @property
    def absent(self) -> tuple[str, ...]:
        """Components that had no rows: predictions need another source for them."""
        return tuple(item.name for item in FITTED if item.name not in self.components and item.name != "compute_gradient")

    @property
    def parts(self) -> tuple[PartReport, ...]:
        """Reports of the kernels, then of the components."""
        by_name = self.gradient.kernels if isinstance(self.gradient, GradientModel) else {}
        kernels = (kernel_part(name, fits[EXPLAINED], self.score.kernels) for name, fits in by_name.items())
        return (*kernels, *(component_part(item) for item in self.components.values()))

    def to_dict(self) -> dict[str, Any]:
        """The document that `mlperf.save_model` writes."""
        return {
            **envelope("system"),
            **_gradient_to_dict(self.gradient),
            "score": {
                "predictions": plain(self.score.predictions),
                "accuracy": plain(self.score.accuracy),
                "kernels": plain(self.score.kernels),
                "step_cv": plain(self.score.step_cv),
                "noise_floor": plain(self.score.noise_floor),
            },
            "components": {name: _component_to_dict(item) for name, item in self.components.items()},
            **({} if self.runs is None else {"runs": self.runs.to_dict()}),
            "cnns": list(self.cnns),
            "noise": self.noise,
            "seed": self.seed,
            "provenance": plain(self.provenance),
            **({} if self.measured_on is None else {"measured_on": self.measured_on.to_dict()}),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> Model:
        """The model again from a document without its envelope; raises DataError with the JSON path of what is wrong."""
        with Fields(document, path) as fields:
            return cls(
                gradient=_gradient_from_fields(fields),
                score=_score_from_dict(fields.raw("score"), "$.score"),
                components={
                    name: _component_from_dict(name, value, f"$.components.{name}")
                    for name, value in _object(fields.raw("components"), "$.components").items()
                },
                runs=None if _lacks(fields, "runs") else RunModel.from_dict(fields.raw("runs"), f"{path}.runs"),
                cnns=fields.texts("cnns"),
                noise=fields.text("noise"),
                seed=fields.integer("seed"),
                provenance=_object(fields.raw("provenance"), "$.provenance"),
                measured_on=(
                    None
                    if _lacks(fields, "measured_on")
                    else MeasuredOn.from_dict(fields.raw("measured_on"), f"{path}.measured_on")
                ),
            )

    def to_frame(self) -> pd.DataFrame:
        """One row a fitted part: kernels, then components (see `mlperf.training.part_report.parts_frame`)."""
        return parts_frame(self.parts)


def _gradient_to_dict(gradient: GradientModel | WorkModel) -> dict[str, Any]:
    if isinstance(gradient, WorkModel):
        return {"work": model_to_dict(gradient.fitted)}
    return {
        "backend": gradient.backend,
        "kernels": fits_to_dict(gradient.kernels),
        "too_few": list(gradient.too_few),
        "sgemm": None if gradient.sgemm is None else model_to_dict(gradient.sgemm),
        "characteristics": None if gradient.characteristics is None else gradient.characteristics.to_dict(),
        **({"beyond": {kernel: domain.to_dict() for kernel, domain in gradient.beyond.items()}} if gradient.beyond else {}),
        **({} if gradient.launches is None else {"launches": gradient.launches.to_dict()}),
        **({} if gradient.gaps is None else {"gaps": gradient.gaps.to_dict()}),
    }


def _lacks(fields: Fields, name: str) -> bool:
    """Whether a document has no value of that name; models written by older releases have no such name."""
    return name not in fields.names or fields.absent(name)


def _gradient_from_fields(fields: Fields) -> GradientModel | WorkModel:
    if "work" in fields.names:
        return WorkModel(model_from_dict(fields.raw("work"), "$.work"))
    kernels = fits_from_dict(fields.raw("kernels"), "$.kernels")
    sgemm = fields.raw("sgemm")
    grid: GridLocal | None = None if sgemm is None else model_from_dict(sgemm, "$.sgemm")
    beyond = {} if _lacks(fields, "beyond") else _object(fields.raw("beyond"), "$.beyond")
    return GradientModel(
        fields.text("backend"),
        kernels,
        grid,
        fields.texts("too_few"),
        _characteristics(fields),
        {kernel: Domain.from_dict(value, f"$.beyond.{kernel}") for kernel, value in beyond.items()},
        None if _lacks(fields, "launches") else Launches.from_dict(fields.raw("launches")),
        None if _lacks(fields, "gaps") else CallGaps.from_dict(fields.raw("gaps")),
    )


def _characteristics(fields: Fields) -> Characteristics | None:
    if _lacks(fields, "characteristics"):
        return None
    return Characteristics.from_dict(fields.raw("characteristics"), "$.characteristics")


def _score_from_dict(value: Any, path: str) -> GradientScore:
    with Fields(value, path) as fields:
        return GradientScore(
            frame_from_dict(fields.raw("predictions"), f"{path}.predictions"),
            frame_from_dict(fields.raw("accuracy"), f"{path}.accuracy"),
            frame_from_dict(fields.raw("kernels"), f"{path}.kernels"),
            fields.number("step_cv", upper=LARGEST_SPREAD, finite=False),
            fields.number("noise_floor", finite=False),
        )


def _component_to_dict(item: ComponentModel) -> dict[str, Any]:
    return {
        "selected": scaled_to_dict(item.selected),
        "paper": scaled_to_dict(item.paper),
        "selected_errors": plain(item.selected_errors),
        "paper_errors": plain(item.paper_errors),
        "noise_floor": plain(item.noise_floor),
        "n_rows": item.n_rows,
        **({"least_s": item.least_s} if item.least_s else {}),
    }


def _component_from_dict(name: str, value: Any, path: str) -> ComponentModel:
    with Fields(value, path) as fields:
        return ComponentModel(
            name,
            scaled_from_dict(fields.raw("selected"), f"{path}.selected"),
            scaled_from_dict(fields.raw("paper"), f"{path}.paper"),
            left_out_from_dict(fields.raw("selected_errors"), f"{path}.selected_errors"),
            left_out_from_dict(fields.raw("paper_errors"), f"{path}.paper_errors"),
            fields.number("noise_floor", finite=False),
            fields.integer("n_rows"),
            0.0 if _lacks(fields, "least_s") else fields.number("least_s", lower=0.0),
        )


def _object(value: Any, path: str) -> Mapping[str, Any]:
    return {key: value[key] for key in Fields(value, path).names}
