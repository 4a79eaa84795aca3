"""Costs that depend on a length in one common way: operations measured at few lengths borrow the shape from the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import FitError
from mlperf.models.estimators.choice.cost_form import CostForm, fit_form, fit_needed_terms, form_matrix
from mlperf.models.estimators.choice.form_average import LEAST_WEIGHT, FormAverage, akaike_weights, corrected_criterion

N_KNOTS, LADDER = 30, (1, 2, 3)
BEYOND_CACHE = (2.0, 4.0)
"""How many times as dear a further number may be where the last cache has ended, beside once: a prior, no fit."""

OVERHEADS = np.geomspace(0.01, 2.0, 30)
"""Costs of a call, in numbers of the shortest length."""
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
    one, two or three octaves from a common start; proportional, alone or with a common overhead, and two or four times as dear
    beyond a knot. A cost at a single length follows the family's common shape. Whatever fits best, at knots that no length reaches
    it stays open whether further numbers cost once, twice or four times as much: these forms have one vote together.

    Parameters
    ----------
    costs : mapping of str to Lengths
        At least one.
    knots : sequence of float
        Lengths at which a cache may end; where none is known it may be anywhere beyond the longest.
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
    shapes = (_proportional(costs), *_powers(costs), *_hinges(costs, knots), *_ladders(costs), *_common_shapes(costs, knots))
    families = [family for family in shapes if family]
    if not families:
        raise FitError("got costs on which no shape stands", hint="Measure more lengths.")
    single = sum(len(cost.lengths) == 1 for cost in costs.values())
    n_points = sum(len(cost.lengths) for cost in costs.values()) - single
    squares = np.array([family.squares() for family in families])
    n_parameters = np.array(
        [sum(len(form.terms) for form in family.forms.values()) - single + family.n_shared + 1.0 for family in families]
    )
    if n_points == 0:
        families = [family for family in families if family.n_shared == 0]
        weights = np.full(len(families), 1.0 / len(families))
    else:
        weights = akaike_weights(
            corrected_criterion(squares, n_parameters, float(n_points), floor) + 2.0 * np.log(_n_alike(squares))
        )
    spread, ends = _exponent_spread(costs), _open_ends(costs, knots)
    return {name: _averaged(cost, name, families, weights, spread, ends, floor) for name, cost in costs.items()}


def _n_alike(squares: FloatArray) -> FloatArray:
    """How many families fit exactly as well as each: what the rows cannot tell apart has one vote together."""
    return np.array([np.isclose(squares, each, rtol=1e-9, atol=1e-18).sum() for each in squares], float)


def _averaged(
    cost: Lengths,
    name: str,
    families: Sequence[_Family],
    weights: FloatArray,
    spread: float,
    ends: Sequence[tuple[float, float]],
    floor: float,
) -> FormAverage:
    drawn: list[tuple[CostForm, float | None]] = []
    each: list[float] = []
    for family, weight in zip(families, weights, strict=True):
        form = family.forms[name]
        if family.n_shared == 1 and _is_power(form) and spread > 0.0:
            density = np.exp(-0.5 * EXPONENTS**2)
            drawn += [(form, deviation * spread) for deviation in EXPONENTS]
            each += list(weight * density / density.sum())
        else:
            drawn.append((form, None))
            each.append(float(weight))
    # All ways to go on have equal parts of a form's weight. Most forms hardly count, and are not made in the first place.
    shares = np.array(each) / (len(ends) + 1.0)
    kept = np.flatnonzero(shares >= LEAST_WEIGHT * shares.max())
    found = [form if by is None else _bent(form, cost, by) for form, by in (drawn[place] for place in kept)]
    forms = [way for form in found for way in (form, *(_opened(form, cost, end) for end in ends))]
    model = FormAverage([form.terms for form in forms], floor)
    model.n_features_in_, model.feature_names_in_ = 1, np.array([cost.column], dtype=object)
    return model.set_forms(forms, np.repeat(shares[kept], len(ends) + 1), pd.DataFrame(cost.columns))


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
        ladders = [[float(start) * 2.0**octave for octave in range(n_octaves)] for start in np.geomspace(low, last, N_KNOTS)]
        squares = [sum(_hinge_squares(cost, knots) for cost in costs.values()) for knots in ladders]
        nearest = (_ladder(costs, ladders[place]) for place in np.argsort(squares, kind="stable"))
        best.append(next((family for family in nearest if family is not None), None))
    return best


def _ladder(costs: Mapping[str, Lengths], knots: Sequence[float]) -> _Family | None:
    return _complete(costs, lambda cost: _with_hinges(cost, knots), 1)


def _hinge_squares(cost: Lengths, knots: Sequence[float]) -> float:
    """Squares that the needed terms of `_with_hinges` leave, without the form; infinite where a cost falls below zero."""
    if len(cost.lengths) == 1:
        return 0.0
    beyond = np.maximum(cost.lengths[:, None] - np.round(knots), 0.0)
    relative = np.column_stack([cost.lengths, beyond]) / cost.times_s[:, None]
    offered = relative[:, (relative > 0.0).any(axis=0)]
    scale = np.sqrt((offered * offered).sum(axis=0))
    fitted = offered @ (nnls(offered / scale, np.ones(len(offered)))[0] / scale)
    return float(np.square(np.log(fitted)).sum()) if (fitted > 0.0).all() else np.inf


def _longest(costs: Mapping[str, Lengths]) -> float:
    return max(float(cost.lengths.max()) for cost in costs.values())


def _open_ends(costs: Mapping[str, Lengths], knots: Sequence[float]) -> list[tuple[float, float]]:
    """Ends of a cache that no length reaches, and how many times as dear a number may be beyond; without knots anywhere further."""
    longest = _longest(costs)
    beyond = [knot for knot in knots if knot >= longest] if knots else [longest, 2.0 * longest]
    return [(knot, times) for knot in beyond for times in BEYOND_CACHE]


def _opened(form: CostForm, cost: Lengths, end: tuple[float, float]) -> CostForm:
    """The same form on all lengths up to the end of a cache; each number beyond it costs so many times as much."""
    at = {cost.column: np.array([end[0], 1.01 * end[0]])}
    low, high = form_matrix(form.terms, at, 2) @ form.coef
    dearer = (end[1] - 1.0) * max(high - low, 0.0) / (0.01 * end[0])
    covariance = np.zeros((len(form.coef) + 1, len(form.coef) + 1))
    covariance[:-1, :-1] = form.covariance
    terms = (*form.terms, f"max({cost.column} - {end[0]:.0f}, 0)")
    return CostForm(terms, np.append(form.coef, dearer), form.log_residuals, covariance)


def _common_shapes(costs: Mapping[str, Lengths], knots: Sequence[float]) -> list[_Family | None]:
    """Every cost in proportion to one expression of its length: an overhead that is found, and ends of caches that are not."""
    ends = [(knot, times) for knot in knots if knot < _longest(costs) for times in BEYOND_CACHE]
    return [_common(costs, 0.0, end) for end in ends] + [_with_overhead(costs, end) for end in (None, *ends)]


def _with_overhead(costs: Mapping[str, Lengths], end: tuple[float, float] | None) -> _Family | None:
    """The overhead of the least squares; None where no cost was seen at two lengths."""
    if not any(cost.tells_shape for cost in costs.values()):
        return None
    overheads = OVERHEADS * min(float(cost.lengths.min()) for cost in costs.values())
    squares = np.sum([_overhead_squares(cost, overheads, end) for cost in costs.values()], axis=0)
    return _common(costs, float(overheads[squares.argmin()]), end)


def _overhead_squares(cost: Lengths, overheads: FloatArray, end: tuple[float, float] | None) -> FloatArray:
    """Squares of a cost in proportion to each shape of `_shape_text`, shape (n_overheads,)."""
    shape = cost.lengths if end is None else cost.lengths + (end[1] - 1.0) * np.maximum(cost.lengths - np.round(end[0]), 0.0)
    relative = (shape + overheads[:, None]) / cost.times_s
    fitted = relative * (relative.sum(axis=1) / np.square(relative).sum(axis=1))[:, None]
    return np.asarray(np.square(np.log(fitted)).sum(axis=1))


def _common(costs: Mapping[str, Lengths], overhead: float, end: tuple[float, float] | None) -> _Family | None:
    return _complete(
        costs, lambda cost: fit_form((_shape_text(cost.column, overhead, end),), cost.columns, cost.times_s), int(overhead > 0.0)
    )


def _shape_text(column: str, overhead: float, end: tuple[float, float] | None) -> str:
    """``"n + 2000 + 3 * max(n - 2097152, 0)"``: a length, what a call costs, and how much more is beyond the end of a cache."""
    call = f" + {overhead:.6g}" if overhead > 0.0 else ""
    beyond = "" if end is None else f" + {end[1] - 1.0:g} * max({column} - {end[0]:.0f}, 0)"
    return column + call + beyond
