"""A system fitted to a table of steps: what every term costs, what was left out, how far it can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields, frame_from_dict
from mlperf.core.shown import Shown, plain
from mlperf.models.uncertainty.intervals import Interval
from mlperf.models.uncertainty.residual_quantiles import log_ratio_bound
from mlperf.training.systems.cost_spread import CostSpread, log_half_width
from mlperf.training.systems.equal_costs import EqualCosts
from mlperf.training.systems.step_columns import COLUMNS, derived_columns, networks_of, step_columns
from mlperf.training.systems.step_design import UNKNOWN, coded, design_matrix, levels_of, part_labels
from mlperf.training.systems.step_terms import BUBBLE, PASS, STEP_TERMS, StepTerm, components

OF_NETWORKS = ("networks", "errors_of_networks")
SPREAD, EQUAL = "spread", "equal"
STEP = "step_s"


@dataclass(frozen=True, slots=True, eq=False)
class StepPredictions(Shown):
    """Predicted steps; every array has shape (n_rows,).

    Attributes
    ----------
    step_s : array
        Seconds of one step.
    parts_s : mapping of str to array
        By component; they sum to the step.
    interval : Interval
        Of one run's step.
    in_domain : array of bool
        Whether every column lies in the range of the rows that were trained on.
    reason : tuple of str
        Why not, empty where it is.
    extrapolated : array of bool
        Whether there are more GPUs than were ever measured.
    samples_per_s : array
        Samples, or sequences, of all GPUs.
    """

    step_s: FloatArray
    parts_s: Mapping[str, FloatArray]
    interval: Interval
    in_domain: BoolArray
    reason: tuple[str, ...]
    extrapolated: BoolArray
    samples_per_s: FloatArray

    def to_frame(self) -> pd.DataFrame:
        """One row a step: time, bounds, components, flags."""
        return pd.DataFrame(
            {
                STEP: self.step_s,
                "run_lower_s": self.interval.lower,
                "run_upper_s": self.interval.upper,
                **{f"{name}_s": seconds for name, seconds in self.parts_s.items()},
                "samples_per_s": self.samples_per_s,
                "in_domain": self.in_domain,
                "reason": self.reason,
                "extrapolated": self.extrapolated,
            }
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SystemFit(Shown):
    """What `train_system` makes of a table of steps.

    Attributes
    ----------
    system : str
        Name of the system.
    terms : tuple of str
        Columns of the terms that were offered (see `mlperf.training.systems.step_terms.STEP_TERMS`).
    factors, apart : tuple of str
        Columns whose levels have own costs of work; whose levels were fitted by themselves.
    levels : mapping of str to tuple of str
        Of ``factors``.
    parts : tuple of str
        Levels of ``apart``, joined; one empty name where there is none.
    costs : array, shape (n_parts, n_columns)
        Seconds a unit of each design column; 0 where a term was not kept.
    method : str
        Of `mlperf.training.systems.step_fit.METHODS`: which terms stayed, all or those that AIC kept, and by which loss.
    rules : DataFrame
        What predicts, and the rules of thumb beside it: ``rule, error, error_of_counts, verdict`` of left-out rows and of left-out
        largest counts of GPUs, fractions.
    r2_adj : float
        Adjusted R² of the rows that were trained on, about the mean.
    errors : mapping of str to float
        Of left-out rows: ``mape, median, q3, max``, fractions.
    log_ratios, log_ratios_of_counts : array
        log(measured / predicted) of left-out rows, and of rows with the most GPUs when those are left out.
    networks : tuple of tuple of float
        What tells each network of the rows, see `mlperf.training.systems.step_columns.networks_of`; empty where nothing does.
    errors_of_networks : array
        Root mean square of log(measured / predicted) of each network when it is left out; empty of fewer than three.
    spread : CostSpread or None
        How unsure the costs are; None in files of earlier releases, whose intervals are as wide beyond the rows as within.
    equal : EqualCosts
        Other costs that say the same of all rows; none in files of earlier releases.
    bounds : mapping of str to (float, float)
        Range of each column of the rows.
    groups : str or None
        Column whose equal values were left out together.
    left_out : mapping of str to str
        Terms that the rows cannot tell, each with the reason.
    n_rows : int
        Rows that were trained on.
    notes : tuple of str
        What else the reader must know.
    provenance : mapping
        Digest of the rows, versions, host.
    """

    system: str
    terms: tuple[str, ...]
    factors: tuple[str, ...]
    apart: tuple[str, ...]
    levels: Mapping[str, tuple[str, ...]]
    parts: tuple[str, ...]
    costs: FloatArray
    method: str
    rules: pd.DataFrame
    r2_adj: float
    errors: Mapping[str, float]
    log_ratios: FloatArray
    log_ratios_of_counts: FloatArray
    networks: tuple[tuple[float, ...], ...]
    errors_of_networks: FloatArray
    spread: CostSpread | None
    equal: EqualCosts
    bounds: Mapping[str, tuple[float, float]]
    groups: str | None
    left_out: Mapping[str, str]
    n_rows: int
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]

    @property
    def target(self) -> str:
        """The column that is predicted."""
        return STEP

    def predict(self, rows: pd.DataFrame, level: float = 0.95) -> StepPredictions:
        """Steps of rows with the columns of the training.

        Raises
        ------
        DataError
            A column is missing, or a level of ``apart`` or ``factors`` was never measured.
        """
        columns = step_columns(rows)
        derived = derived_columns(columns)
        missing = [name for name in self.terms if name not in derived]
        if missing:
            hint = "Rows to predict need the columns of the rows that were trained on."
            raise DataError(f"got rows from which {missing[0]!r} cannot be worked out", place="rows", hint=hint)
        design, of_column = design_matrix(self.step_terms, derived, rows, self.factors, self.levels)
        part = self.part_of(rows)
        seconds = design * self.costs[part]
        step_s = seconds.sum(axis=1)
        parts = self._parts(seconds, of_column, derived["bubble"])
        reason = self.reasons(columns)
        beyond = columns["n_gpus"] > self.bounds["n_gpus"][1]
        factor = np.exp(self._log_half_width(beyond, networks_of(columns), self._excess(design, step_s, part), level))
        least, most = self.equal.least_and_most(design, step_s, part)
        return StepPredictions(
            step_s,
            parts,
            Interval(least / factor, most * factor, level),
            np.array([not each for each in reason], bool),
            reason,
            beyond,
            columns["minibatch_size"] / step_s,
        )

    def _excess(self, design: FloatArray, step_s: FloatArray, part: IntArray) -> FloatArray:
        return np.zeros(len(step_s)) if self.spread is None else self.spread.excess(design, step_s, part)

    def _log_half_width(
        self, beyond: BoolArray, networks: Sequence[tuple[float, ...]], excess: FloatArray, level: float
    ) -> FloatArray:
        """Of each row's interval: of rows left out, of counts or networks left out where it is beyond those, and of its costs."""
        own = log_ratio_bound(self.log_ratios, level, int(np.count_nonzero(self.costs)))
        more = np.where(beyond, log_ratio_bound(self.log_ratios_of_counts, level), np.nan)
        # Rows of one network are missed alike: as many errors as networks, not as rows.
        known = set(self.networks)
        unseen = np.array([each not in known for each in networks] or [False] * len(beyond))
        other = np.where(unseen, log_ratio_bound(self.errors_of_networks, level), np.nan)
        return log_half_width(own, (more, other), excess)

    def _parts(self, seconds: FloatArray, of_column: Sequence[StepTerm], bubble: FloatArray) -> dict[str, FloatArray]:
        """Seconds of each component; of what passes take, the share in which the pipeline fills and drains is the bubble's."""
        in_passes = np.array([term.paid == PASS for term in of_column])
        again = np.where(in_passes, (bubble / (1.0 + bubble))[:, None], 0.0) * seconds
        own = seconds - again
        has_bubble = self.bounds.get("pipeline_parallel", (1.0, 1.0))[1] > 1.0 or bool(bubble.any())
        return {
            name: again.sum(axis=1) if name == BUBBLE else own[:, [term.component == name for term in of_column]].sum(axis=1)
            for name in components(self.step_terms, has_bubble)
        }

    @property
    def step_terms(self) -> tuple[StepTerm, ...]:
        """The terms as rows of the table."""
        known = {term.column: term for term in STEP_TERMS if self.system in term.systems}
        return tuple(known[name] for name in self.terms)

    def part_of(self, rows: pd.DataFrame) -> IntArray:
        """Number of the part that each row belongs to.

        Raises
        ------
        DataError
            It was never measured.
        """
        return coded(part_labels(rows, self.apart), self.parts, ", ".join(self.apart))

    def reasons(self, columns: Mapping[str, FloatArray]) -> tuple[str, ...]:
        """Why each row lies outside of what was measured: the first column that does; empty where none does."""
        n_rows = len(columns["n_gpus"])
        found = np.full(n_rows, UNKNOWN, dtype=object)
        for name in COLUMNS:
            values = columns.get(name)
            if values is None or name not in self.bounds:
                continue
            low, high = self.bounds[name]
            outside = ((values < low * (1.0 - 1e-9)) | (values > high * (1.0 + 1e-9))) & (found == UNKNOWN)
            for row in np.flatnonzero(outside):
                found[row] = f"{name} {values[row]:g}, measured {low:g} to {high:g}"
        return tuple(found.tolist())

    def coefficients(self) -> pd.DataFrame:
        """One row a design column with a cost: ``component, term, level, part, cost_s, unit, meaning``."""
        names = [
            (term, level)
            for term in self.step_terms
            for level in (levels_of(term, self.factors, self.levels) or ((UNKNOWN, UNKNOWN),))
        ]
        rows = [
            {
                "component": term.component,
                "term": term.column,
                "level": level[1],
                "part": self.parts[number],
                "cost_s": float(self.costs[number, place]),
                "unit": term.unit,
                "meaning": term.meaning,
            }
            for number in range(len(self.parts))
            for place, (term, level) in enumerate(names)
            if self.costs[number, place] > 0.0
        ]
        table = pd.DataFrame(rows, columns=["component", "term", "level", "part", "cost_s", "unit", "meaning"])
        empty = [name for name in ("level", "part") if (table[name] == UNKNOWN).all()]
        return table.drop(columns=empty)

    def to_frame(self) -> pd.DataFrame:
        """The costs."""
        return self.coefficients()

    def to_dict(self) -> dict[str, Any]:
        """The document that `mlperf.save_model` writes, without its envelope."""
        found = {name: plain(getattr(self, name)) for name in self.__slots__ if name not in (SPREAD, EQUAL)}
        if self.spread is not None:
            found[SPREAD] = self.spread.to_dict()
        if len(self.equal.part):
            found[EQUAL] = self.equal.to_dict()
        # Files of earlier releases know of no networks, and are written again as they were.
        return found if self.networks else {name: value for name, value in found.items() if name not in OF_NETWORKS}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> SystemFit:
        """The model again from a document without its envelope; raises DataError with the JSON path of what is wrong."""
        with Fields(document, path) as fields:
            n_columns = len(fields.items("costs"))
            costs = np.array([[float(value) for value in row] for row in fields.raw("costs")], np.float64).reshape(n_columns, -1)
            found = cls(
                system=fields.text("system"),
                terms=fields.texts("terms"),
                factors=fields.texts("factors"),
                apart=fields.texts("apart"),
                levels={str(name): tuple(map(str, values)) for name, values in fields.raw("levels").items()},
                parts=fields.texts("parts"),
                costs=costs,
                method=fields.text("method"),
                rules=frame_from_dict(fields.raw("rules"), f"{path}.rules"),
                r2_adj=fields.number("r2_adj", finite=False),
                errors={str(name): float(value) for name, value in fields.raw("errors").items()},
                log_ratios=fields.numbers("log_ratios", finite=False),
                log_ratios_of_counts=fields.numbers("log_ratios_of_counts", finite=False),
                networks=_networks(fields),
                errors_of_networks=np.empty(0) if fields.missing("errors_of_networks") else fields.numbers("errors_of_networks"),
                spread=None if fields.missing(SPREAD) else CostSpread.from_dict(fields.raw(SPREAD), f"{path}.{SPREAD}"),
                equal=EqualCosts.none(costs.shape[1])
                if fields.missing(EQUAL)
                else EqualCosts.from_dict(fields.raw(EQUAL), f"{path}.{EQUAL}"),
                bounds={str(name): (float(low), float(high)) for name, (low, high) in fields.raw("bounds").items()},
                groups=None if fields.absent("groups") else fields.text("groups"),
                left_out={str(name): str(why) for name, why in fields.raw("left_out").items()},
                n_rows=fields.integer("n_rows"),
                notes=fields.texts("notes"),
                provenance=dict(fields.raw("provenance")),
            )
        unknown = [name for name in found.terms if name not in {term.column for term in STEP_TERMS if found.system in term.systems}]
        if unknown:
            hint = "The model was written by another release: train it again from its table."
            raise DataError(f"got the term {unknown[0]!r}, which {found.system!r} does not have", place=f"{path}.terms", hint=hint)
        if "n_gpus" not in found.bounds:
            raise DataError("got no bounds of n_gpus", place=f"{path}.bounds")
        without = [name for name in found.factors if not found.levels.get(name)]
        if without:
            raise DataError(f"got no levels of {without[0]!r}", place=f"{path}.levels")
        n_costs = sum(max(len(levels_of(term, found.factors, found.levels)), 1) for term in found.step_terms)
        if costs.shape != (len(found.parts), n_costs):
            expected = f"{len(found.parts)} rows of {n_costs}"
            raise DataError(f"got {costs.shape[0]} rows of {costs.shape[1]} costs, expected {expected}", place=f"{path}.costs")
        if found.spread is not None and found.spread.covariance.shape[:2] != costs.shape:
            got = f"got the spread of {found.spread.covariance.shape[:2]} parts and costs, expected that of {costs.shape}"
            raise DataError(got, place=f"{path}.{SPREAD}", hint="Train the model again from its table.")
        if not found.equal.fits(costs):
            sets = f"{found.equal.costs.shape[1]} costs up to part {max(found.equal.part)}"
            got = f"got sets of {sets}, expected those of {costs.shape}"
            raise DataError(got, place=f"{path}.{EQUAL}", hint="Train the model again from its table.")
        return found


def _networks(fields: Fields) -> tuple[tuple[float, ...], ...]:
    # Files of earlier releases do not know them.
    found = [] if fields.missing("networks") else fields.raw("networks")
    return tuple(tuple(float(value) for value in each) for each in found)
