"""Fit the components of Tables 3 and 4: terms chosen by AIC beside the regressors the paper chose by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import FitError
from mlperf.core.progress import tracked
from mlperf.models import StepwiseOLS
from mlperf.models.formula.expressions import names, parse
from mlperf.models.validation.scores import halves_difference
from mlperf.systems.sprint.components import BY_NAME, Component
from mlperf.training.fits.left_out import LeftOutError, left_out_error
from mlperf.training.fits.ratio_model import Scaled, TotalKeeping


@dataclass(frozen=True, slots=True, eq=False)
class ComponentModel:
    """One fitted component.

    Attributes
    ----------
    name : str
        A name of `mlperf.systems.sprint.components.COMPONENTS`.
    selected : Scaled
        Terms chosen by AIC; predicts.
    paper : Scaled
        The paper's terms, none dropped; shown beside.
    selected_errors, paper_errors : LeftOutError or None
        Of left-out groups, selection repeated inside each fold; None with fewer than three groups.
    noise_floor : float
        How far odd and even repeats differ, a fraction (see `mlperf.models.validation.scores.HalvesDifference`); NaN without
        repeats.
    n_rows : int
        Rows of the fit.
    least_s : float
        The shortest time of the fit, seconds; no time is predicted far below it. 0 where a file does not tell it.
    """

    name: str
    selected: Scaled
    paper: Scaled
    selected_errors: LeftOutError | None
    paper_errors: LeftOutError | None
    noise_floor: float
    n_rows: int
    least_s: float = 0.0

    @property
    def floor_s(self) -> float:
        """A straight line falls below zero where sizes go to zero; a time does not."""
        return LEAST_SHARE * self.least_s

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that the fit reads."""
        return tuple(self.selected.estimator.feature_names_in_)

    def predict(self, inputs: pd.DataFrame) -> FloatArray:
        """Seconds of one occurrence, at least `floor_s`, shape (n_configs,)."""
        return np.maximum(self.selected.predict(inputs), self.floor_s)

    def in_domain(self, inputs: pd.DataFrame) -> BoolArray:
        """Whether each configuration lies inside the measured domain, and its time above `floor_s`."""
        return self.selected.in_domain(inputs) & (self.selected.predict(inputs) >= self.floor_s)

    def sample(self, inputs: pd.DataFrame, rng: np.random.Generator, size: int, kind: str) -> FloatArray:
        """Joint draws as of `Scaled.sample`, none below `floor_s`; seconds, shape (size, n_configs)."""
        return np.maximum(self.selected.sample(inputs, rng, size, kind), self.floor_s)


Report = str | tuple[str, ...]

LEAST_ROWS = 2
MORE_HINT = "Measure further settings: other networks, numbers of GPUs or nodes, sub-batches."
LEAST_SHARE = 0.25
"""No time is predicted below this share of the shortest one measured, as with any table; where that binds, it is out of domain."""

# A vector operation touches two or three vectors of four bytes a parameter: it leaves the second-level cache at about an eighth
# of its bytes in parameters, and the last one between a sixteenth and, when old lines must also be written back, a quarter.
CACHE_KNOTS = (("L2", 8), ("L3", 16), ("L3", 4))


def fit_components(
    rows: Mapping[str, pd.DataFrame], noise: str, cache_bytes: Mapping[str, int], *, left_out: bool = True
) -> dict[str, ComponentModel]:
    """Fit every component that has rows (see `mlperf.training.components.component_rows.run_rows`).

    ``cache_bytes`` are the host's caches by level; they give vector operations terms that begin where a cache ends.
    Without ``left_out`` nothing is fitted again without some of the rows: no left-out errors, and no tests after selection.
    """
    return {
        name: fit_component(_with_cache_terms(BY_NAME[name], cache_bytes), table, noise, left_out=left_out)
        for name, table in tracked(rows.items(), "components fitted")
    }


def _with_cache_terms(component: Component, cache_bytes: Mapping[str, int]) -> Component:
    if component.paper[:1] not in (("n_params",), ("params_share",)):
        return component
    vector = component.paper[0]
    knots = sorted({cache_bytes[level] // share for level, share in CACHE_KNOTS if level in cache_bytes})
    hinges = tuple(f"max({vector} - {knot}, 0)" for knot in knots)
    return replace(component, candidates=(*component.candidates, *hinges))


def fit_component(component: Component, rows: pd.DataFrame, noise: str, *, left_out: bool = True) -> ComponentModel:
    """Fit one component.

    Parameters
    ----------
    component : Component
        Gives the paper's terms and the candidates; a candidate whose columns the rows do not have is not offered.
    rows : DataFrame
        Inputs of the terms, ``group``, ``time_s``.
    noise : str
        ``relative`` (weights 1/t**2) or ``absolute``.
    left_out : bool
        Whether errors of left-out groups, and tests that know of the selection, are found out.

    Raises
    ------
    FitError
        A single row, or no term can be evaluated on the rows.
    """
    if len(rows) < LEAST_ROWS:
        raise FitError(f"component {component.name!r}: got {len(rows)} row, expected {LEAST_ROWS} or more", hint=MORE_HINT)
    offered = tuple(term for term in component.terms if _evaluable(term, rows))
    if not offered:
        raise FitError(f"component {component.name!r}: got columns {', '.join(rows.columns)}, expected those of {component.terms}")
    paper = tuple(term for term in component.paper if term in offered)
    times = rows["time_s"].to_numpy(float)
    try:
        fit = _fit(offered, (), rows, times, noise, report=("selective",) if left_out else "none")
        by_paper = _fit(paper, paper, rows, times, noise)
        errors = _errors(offered, (), rows, times, noise) if left_out else None
        paper_errors = _errors(paper, paper, rows, times, noise) if left_out else None
    except FitError as error:
        # A fold of the left-out errors may have half of the rows: it is the first that has fewer of them than terms.
        hint = MORE_HINT if len(rows) <= 2 * (len(offered) + 1) else error.hint
        inside = f", {error.place}" if error.place else ""
        raise FitError(error.message, place=f"component {component.name!r}, {len(rows)} rows{inside}", hint=hint) from error
    return ComponentModel(
        component.name,
        fit,
        by_paper,
        errors,
        paper_errors,
        halves_difference(rows, ["group"], "time_s").mape,
        len(rows),
        float(times.min()),
    )


def _fit(
    terms: tuple[str, ...], kept: tuple[str, ...], rows: pd.DataFrame, times: FloatArray, noise: str, report: Report = "none"
) -> Scaled:
    estimator = StepwiseOLS(terms=terms, lower=kept, noise=noise, report=report)
    return TotalKeeping(estimator, keep_totals=False).fit(_columns(rows), times, rows["group"])


def _errors(
    terms: tuple[str, ...], kept: tuple[str, ...], rows: pd.DataFrame, times: FloatArray, noise: str
) -> LeftOutError | None:
    def make() -> TotalKeeping:
        return TotalKeeping(StepwiseOLS(terms=terms, lower=kept, noise=noise, report="none"), keep_totals=False)

    return left_out_error(make, _columns(rows), times, rows["group"])


def _columns(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.drop(columns=["time_s", "group"]).select_dtypes(include=np.number)


def _evaluable(term: str, rows: pd.DataFrame) -> bool:
    return set(names(parse(term))) <= set(rows.columns)
