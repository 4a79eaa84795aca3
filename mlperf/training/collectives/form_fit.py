"""One form fitted to rows: non-negative relative least squares, for each part of its own where it has parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import nnls

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown, plain
from mlperf.models.algebra.same_arrays import SameArrays
from mlperf.models.estimators.choice.cost_form import form_matrix
from mlperf.training.collectives.exchange_forms import BY_COUNT, SPLITS, ExchangeForm

Columns = Mapping[str, FloatArray]
EVERYWHERE = (0.0, float("inf"))
CLEARLY_APART = 1e-6
"""Of squared singular values: far above what counts as 0, about 1e-20 in a hundred thousand rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Coefficients of some rows, shape (n_terms,), and the sum of the rows' squared relative errors."""

    coef: FloatArray
    squares: float


SOLVED: SameArrays[Solution | None] = SameArrays(2**14)
"""A row that is left out changes one count, or one side of a change: the solutions of all others come again."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Coefficients of one part of the rows.

    Attributes
    ----------
    low, high : float
        Bounds of the split column, ``low < value <= high``; of a count, N and M themselves.
    coef : array, shape (n_terms,)
        Seconds a term; of log-log lines log seconds at ``nodes``.
    nodes : array, shape (n_nodes,)
        Log bytes of log-log lines; else empty.
    """

    low: float
    high: float
    coef: FloatArray
    nodes: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class FittedForm(Shown):
    """A form with its coefficients.

    Attributes
    ----------
    form : ExchangeForm
    parts : tuple of Part
        One; or one for each count or side of a change.
    ratios : tuple of Part
        Of a local form, by count: log(measured / formula) at ``nodes``.
    """

    form: ExchangeForm
    parts: tuple[Part, ...]
    ratios: tuple[Part, ...] = ()

    @property
    def n_coef(self) -> int:
        """Numbers that were fitted, the place of a change among them."""
        n_numbers = sum(len(part.coef) for part in (*self.parts, *self.ratios))
        return n_numbers + (len(self.parts) - 1 if self.form.split in ("N", "S") else 0)

    def predict(self, columns: Columns) -> FloatArray:
        """Seconds, shape (n_rows,); NaN for counts that a form by count does not have."""
        answer = np.full(len(columns["N"]), np.nan)
        for part in self.parts:
            here = self._belongs(part, columns)
            if here.any():
                answer[here] = self._answer(part, {name: values[here] for name, values in columns.items()})
        return answer * self._ratio(columns) if self.form.local else answer

    def _ratio(self, columns: Columns) -> FloatArray:
        """Measured over formula, as at the nearest measured size beyond both ends; NaN for counts that were not measured."""
        ratio = np.full(len(columns["N"]), np.nan)
        for part in self.ratios:
            here = _of_count(part, columns)
            ratio[here] = np.exp(np.interp(np.log(columns["S"][here]), part.nodes, part.coef))
        return ratio

    def _belongs(self, part: Part, columns: Columns) -> BoolArray:
        if not self.form.split:
            return np.ones(len(columns["N"]), dtype=bool)
        if self.form.split == BY_COUNT:
            return _of_count(part, columns)
        value = columns[self.form.split]
        return np.asarray((value > part.low) & (value <= part.high))

    def _answer(self, part: Part, columns: Columns) -> FloatArray:
        if self.form.terms:
            return np.asarray(_matrix(self.form, columns) @ part.coef)
        return log_lines(part.nodes, part.coef, np.log(columns["S"]))

    def to_dict(self) -> dict[str, Any]:
        """JSON types."""
        return {**plain(self.form), "parts": plain(self.parts), "ratios": plain(self.ratios)}

    @classmethod
    def from_dict(cls, value: Any, path: str) -> FittedForm:
        """The inverse of `to_dict`; DataError with the JSON path of what is wrong."""
        with Fields(value, path) as fields:
            texts = (fields.text("name"), fields.text("meaning"), fields.texts("terms"), fields.text("split"))
            if texts[-1] not in SPLITS:
                raise DataError(f"got {texts[-1]!r}, expected one of {SPLITS}", place=f"{path}.split")
            form = ExchangeForm(*texts, *(fields.boolean(name) for name in ("physical", "signed", "local")))
            parts, ratios = (tuple(part_from(each) for each in fields.children(name)) for name in ("parts", "ratios"))
            if not parts:
                raise DataError("got no parts, expected at least one", place=f"{path}.parts")
            for name, several in (("parts", parts), ("ratios", ratios)):
                for place, part in enumerate(several):
                    expected = len(form.terms) if form.terms and name == "parts" else len(part.nodes)
                    if len(part.coef) != expected:
                        raise DataError(
                            f"got {len(part.coef)} coefficients, expected {expected}", place=f"{path}.{name}[{place}].coef"
                        )
            return cls(form, parts, ratios)


def part_from(fields: Fields) -> Part:
    """A part from its JSON object."""
    with fields:
        low, high = fields.number("low"), fields.number("high", finite=False)
        return Part(low, high, fields.numbers("coef"), fields.numbers("nodes"))


def fit_exchange_form(form: ExchangeForm, columns: Columns, time_s: FloatArray) -> FittedForm | None:
    """Least squares of relative errors.

    Parameters
    ----------
    form : ExchangeForm
        What to fit.
    columns : mapping of str to array
        `terms_frame` of the rows.
    time_s : array, shape (n_rows,)
        Measured seconds > 0.

    Returns
    -------
    FittedForm or None
        None where the rows are too few for the form, or cannot tell its terms apart.
    """
    if form.split == BY_COUNT:
        parts = _by_count(form, columns, time_s)
    elif form.split:
        parts = _with_change(form, columns, time_s)
    else:
        found = _solution(form, _matrix(form, columns), time_s)
        parts = None if found is None else (Part(*EVERYWHERE, found.coef, np.zeros(0)),)
    if not parts:
        return None
    fitted = FittedForm(form, parts)
    return fitted if not form.local else _with_ratios(fitted, columns, time_s)


def with_terms(form: ExchangeForm, columns: Columns) -> dict[str, FloatArray]:
    """The columns and the values of the form's terms under their texts, so that parts of the rows need not evaluate them again."""
    return {**columns, **dict(zip(form.terms, form_matrix(form.terms, columns, len(columns["N"])).T, strict=True))}


def _matrix(form: ExchangeForm, columns: Columns) -> FloatArray:
    """Values of the form's terms, shape (n_rows, n_terms): those at hand, or evaluated."""
    if not all(term in columns for term in form.terms):
        return form_matrix(form.terms, columns, len(columns["N"]))
    matrix = np.empty((len(columns["N"]), len(form.terms)))
    for place, term in enumerate(form.terms):
        matrix[:, place] = columns[term]
    return matrix


def log_lines(nodes: FloatArray, log_s: FloatArray, at: FloatArray) -> FloatArray:
    """Seconds on straight lines between nodes in log bytes and log seconds; the end lines go on."""
    left = np.clip(np.searchsorted(nodes, at) - 1, 0, len(nodes) - 2)
    share = (at - nodes[left]) / (nodes[left + 1] - nodes[left])
    return np.asarray(np.exp(log_s[left] + share * (log_s[left + 1] - log_s[left])))


def _of_count(part: Part, columns: Columns) -> BoolArray:
    return np.asarray((columns["N"] == part.low) & (columns["M"] == part.high))


def _counts(columns: Columns) -> list[tuple[float, float]]:
    return sorted(set(zip(columns["N"].tolist(), columns["M"].tolist(), strict=True)))


def _with_ratios(fitted: FittedForm, columns: Columns, time_s: FloatArray) -> FittedForm | None:
    formula = replace(fitted, form=replace(fitted.form, local=False)).predict(columns)
    if not (formula > 0.0).all():
        return None
    ratios = []
    for n_gpus, n_nodes in _counts(columns):
        here = np.flatnonzero((columns["N"] == n_gpus) & (columns["M"] == n_nodes))
        here = here[np.argsort(columns["S"][here])]
        ratios.append(Part(n_gpus, n_nodes, np.log(time_s[here] / formula[here]), np.log(columns["S"][here])))
    return replace(fitted, ratios=tuple(ratios))


def _solution(form: ExchangeForm, matrix: FloatArray, time_s: FloatArray) -> Solution | None:
    """`_solve`, once for the same rows."""
    return SOLVED((matrix, time_s), lambda: _solve(form, matrix, time_s), form.signed)


def _solve(form: ExchangeForm, matrix: FloatArray, time_s: FloatArray) -> Solution | None:
    relative = matrix / time_s[:, None]
    scale = np.sqrt((relative * relative).sum(axis=0))
    if len(time_s) < len(scale) or not (scale > 0.0).all():
        return None
    unit = relative / scale
    if not _told_apart(unit):
        return None
    ones = np.ones(len(time_s))
    found = np.linalg.lstsq(unit, ones, rcond=None)[0] if form.signed else nnls(unit, ones)[0]
    coef = np.asarray(found / scale)
    coef.flags.writeable = False
    return Solution(coef, float(np.square(matrix @ coef / time_s - 1.0).sum()))


def _told_apart(unit: FloatArray) -> bool:
    """Whether columns of length 1 have full rank; singular values are asked only where they may be near the tolerance."""
    n_terms = unit.shape[1]
    try:
        np.linalg.cholesky(unit.T @ unit - CLEARLY_APART * np.eye(n_terms))
    except np.linalg.LinAlgError:
        return bool(np.linalg.matrix_rank(unit) == n_terms)
    return True


def _by_count(form: ExchangeForm, columns: Columns, time_s: FloatArray) -> tuple[Part, ...] | None:
    matrix = _matrix(form, columns) if form.terms else None
    parts = []
    for n_gpus, n_nodes in _counts(columns):
        here = (columns["N"] == n_gpus) & (columns["M"] == n_nodes)
        if matrix is not None:
            found = _solution(form, matrix[here], time_s[here])
            coef, nodes = None if found is None else found.coef, np.zeros(0)
        else:
            order = np.argsort(columns["S"][here])
            nodes = np.log(columns["S"][here][order])
            coef = np.log(time_s[here][order]) if len(nodes) > 1 else None
        if coef is None:
            return None
        parts.append(Part(n_gpus, n_nodes, coef, nodes))
    return tuple(parts)


def _with_change(form: ExchangeForm, columns: Columns, time_s: FloatArray) -> tuple[Part, ...] | None:
    """Every place between two measured values of the split column is tried; the least squares stay."""
    value, matrix = columns[form.split], _matrix(form, columns)
    levels = np.unique(value)
    best, parts = np.inf, None
    for below, above in pairwise(levels):
        low = value <= below
        if min(low.sum(), (~low).sum()) <= len(form.terms):
            continue
        left, right = (_solution(form, matrix[side], time_s[side]) for side in (low, ~low))
        if left is None or right is None:
            continue
        squares = left.squares + right.squares
        if squares < best:
            place = float(np.sqrt(below * above))
            best, none = squares, np.zeros(0)
            parts = (Part(0.0, place, left.coef, none), Part(place, float("inf"), right.coef, none))
    return parts
