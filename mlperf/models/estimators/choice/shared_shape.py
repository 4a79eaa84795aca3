"""Costs that depend on a length in one common way: operations measured at few lengths borrow the shape from the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import FitError
from mlperf.models.estimators.choice.cost_form import CostForm, fit_form, fit_needed_terms
from mlperf.models.estimators.choice.form_average import FormAverage, akaike_weights, corrected_criterion

N_KNOTS, LADDER = 30, (1, 2, 3)
LEAST_RATIO = 1.5
EXPONENTS = np.linspace(-2.0, 2.0, 9)
"""Deviations at which a common exponent is drawn, in standard deviations."""


@dataclass(frozen=True, slots=True, eq=False)
class Lengths:
    """One cost over one length: the column's name, its distinct values (n_points,) and mean times there, seconds."""

    column: str
    lengths: FloatArray
    times_s: FloatArray

    @property
    def columns(self) -> dict[str, FloatArray]:
        """The lengths under their column's name."""
        return {self.column: self.lengths}

    @property
    def tells_shape(self) -> bool:
        """Whether the lengths differ enough to say how the cost grows."""
        return bool(self.lengths.max() >= LEAST_RATIO * self.lengths.min())


@dataclass(frozen=True, slots=True, eq=False)
class _Family:
    """One way in which all costs may grow: a form for each, and how many numbers were chosen for all together."""

    forms: Mapping[str, CostForm]
    n_shared: int

    def squares(self) -> float:
        return float(sum(form.squares for form in self.forms.values()))


def fit_shared_shape(costs: Mapping[str, Lengths], knots: Sequence[float], floor: float = 0.01) -> dict[str, FormAverage]:
    """Fit all costs by the same families of shapes, weighed by one criterion over all points.

    Families: proportional; a common power; powers of their own; proportional with hinges at ``knots`` (where caches end); hinges at
    one, two or three octaves from a common start. A cost at a single length follows the family's common shape.

    Parameters
    ----------
    costs : mapping of str to Lengths
        At least one.
    knots : sequence of float
        Lengths at which a cache ends.
    floor : float
        Relative noise of a point.

    Returns
    -------
    dict of FormAverage
        By name; the weights of the families are the same for all.

    Raises
    ------
    FitError
        Nothing stands.
    """
    families = [family for family in (_proportional(costs), *_powers(costs), *_hinges(costs, knots), *_ladders(costs)) if family]
    if not families:
        raise FitError("got costs on which no shape stands", hint="Measure more lengths.")
    single = sum(len(cost.lengths) == 1 for cost in costs.values())
    n_points = sum(len(cost.lengths) for cost in costs.values()) - single
    squares = np.array([family.squares() for family in families])
    n_parameters = np.array(
        [sum(len(form.terms) for form in family.forms.values()) - single + family.n_shared + 1.0 for family in families]
    )
    weights = np.ones(1) if n_points == 0 else akaike_weights(corrected_criterion(squares, n_parameters, float(n_points), floor))
    if n_points == 0:
        families = families[:1]
    spread = _exponent_spread(costs)
    return {name: _averaged(cost, name, families, weights, spread, floor) for name, cost in costs.items()}


def _averaged(
    cost: Lengths, name: str, families: Sequence[_Family], weights: FloatArray, spread: float, floor: float
) -> FormAverage:
    forms: list[CostForm] = []
    each: list[float] = []
    for family, weight in zip(families, weights, strict=True):
        form = family.forms[name]
        if family.n_shared == 1 and _is_power(form) and spread > 0.0:
            density = np.exp(-0.5 * EXPONENTS**2)
            forms += [_bent(form, cost, deviation * spread) for deviation in EXPONENTS]
            each += list(weight * density / density.sum())
        else:
            forms.append(form)
            each.append(float(weight))
    model = FormAverage([form.terms for form in forms], floor)
    model.n_features_in_, model.feature_names_in_ = 1, np.array([cost.column], dtype=object)
    return model.set_forms(forms, np.array(each), pd.DataFrame(cost.columns))


def _is_power(form: CostForm) -> bool:
    return len(form.terms) == 1 and "^" in form.terms[0]


def _bent(form: CostForm, cost: Lengths, deviation: float) -> CostForm:
    """A power with another exponent through the same points."""
    exponent = float(form.terms[0].rpartition("^")[2]) + deviation
    return _through(cost, exponent) or form


def _through(cost: Lengths, exponent: float) -> CostForm | None:
    return fit_form((f"{cost.column}^{exponent:.6f}",), cost.columns, cost.times_s)


def _complete(costs: Mapping[str, Lengths], fit: Callable[[Lengths], CostForm | None], n_shared: int) -> _Family | None:
    found = {name: fit(cost) for name, cost in costs.items()}
    forms = {name: form for name, form in found.items() if form is not None}
    return _Family(forms, n_shared) if len(forms) == len(costs) else None


def _proportional(costs: Mapping[str, Lengths]) -> _Family | None:
    return _complete(costs, lambda cost: fit_form((cost.column,), cost.columns, cost.times_s), 0)


def _slopes(costs: Mapping[str, Lengths]) -> dict[str, tuple[float, float]]:
    """Exponent and sum of squares of the log lengths, of the costs that tell one."""
    found = {}
    for name, cost in costs.items():
        if cost.tells_shape:
            x = np.log(cost.lengths) - np.log(cost.lengths).mean()
            found[name] = float(x @ np.log(cost.times_s) / (x @ x)), float(x @ x)
    return found


def _exponent_spread(costs: Mapping[str, Lengths]) -> float:
    """Standard deviation of exponents between costs; 0 where fewer than two tell one."""
    exponents = [slope for slope, _ in _slopes(costs).values()]
    return float(np.std(exponents, ddof=1)) if len(exponents) > 1 else 0.0


def _powers(costs: Mapping[str, Lengths]) -> list[_Family | None]:
    slopes = _slopes(costs)
    if not slopes:
        return []
    common = sum(slope * weight for slope, weight in slopes.values()) / sum(weight for _, weight in slopes.values())
    if common <= 0.0:
        return []
    own = {name: slopes[name][0] if name in slopes else 1.0 for name in costs}
    shared = _complete(costs, lambda cost: _through(cost, common), 1)
    forms = {name: _through(cost, own[name]) for name, cost in costs.items()}
    stands = {name: form for name, form in forms.items() if form is not None and own[name] > 0.0}
    # An exponent of its own is one more number for each cost that tells one.
    return [shared, _Family(stands, len(slopes)) if len(slopes) > 1 and len(stands) == len(costs) else None]


def _with_hinges(cost: Lengths, knots: Sequence[float]) -> CostForm | None:
    if len(cost.lengths) == 1:
        return fit_form((cost.column,), cost.columns, cost.times_s)
    terms = (cost.column, *(f"max({cost.column} - {knot:.0f}, 0)" for knot in knots))
    return fit_needed_terms(terms, cost.columns, cost.times_s)


def _hinges(costs: Mapping[str, Lengths], knots: Sequence[float]) -> list[_Family | None]:
    sets = [*((knot,) for knot in knots), *([tuple(knots)] if len(knots) > 1 else [])]
    return [_complete(costs, lambda cost, chosen=chosen: _with_hinges(cost, chosen), 0) for chosen in sets]  # type: ignore[misc]


def _ladders(costs: Mapping[str, Lengths]) -> list[_Family | None]:
    lengths = np.concatenate([cost.lengths for cost in costs.values()])
    low, high = float(lengths.min()), 0.7 * float(lengths.max())
    best: list[_Family | None] = []
    for n_octaves in LADDER:
        last = high / 2.0 ** (n_octaves - 1)
        if last <= low:
            continue
        starts = np.geomspace(low, last, N_KNOTS)
        tried = [_ladder(costs, float(start), n_octaves) for start in starts]
        found = [family for family in tried if family is not None]
        best.append(min(found, key=_Family.squares) if found else None)
    return best


def _ladder(costs: Mapping[str, Lengths], start: float, n_octaves: int) -> _Family | None:
    knots = [start * 2.0**octave for octave in range(n_octaves)]
    return _complete(costs, lambda cost: _with_hinges(cost, knots), 1)
