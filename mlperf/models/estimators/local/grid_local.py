"""SGEMM time from a measured grid of sizes: trilinear interpolation inside cells that are found in log space (SPRINT, eq. 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from sklearn.base import BaseEstimator

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError, DomainError, UsageError
from mlperf.core.json_fields import Fields
from mlperf.models.estimators.local.grid_errors import CellErrors, left_out_nodes
from mlperf.models.estimators.local.grid_lattice import (
    CORNERS,
    DIMENSIONS,
    Lattice,
    build_lattice,
    lattice_from_dict,
    lattice_to_dict,
)
from mlperf.models.estimators.local.grid_time import (
    boxes_of,
    domain_reasons,
    gemm_terms,
    lattice_node_error,
    lattice_time,
    median_ratio,
    n_incomplete,
    without_shell,
)
from mlperf.models.uncertainty.intervals import Interval

TERMS = ("m * n * k", "m * n", "m * k", "n * k", "m", "n", "k", "1")
OUTSIDE = ("trilinear", "rate", "error")
MIN_VALIDATION = 30
"""From this many validation points on, the interval uses their errors instead of those of left-out nodes."""

Outside = Literal["trilinear", "rate", "error"]


@dataclass(eq=False, repr=False, kw_only=True)
class GridLocal(BaseEstimator):  # type: ignore[misc]
    """Local model of matrix products on a logarithmic grid, one lattice per flag pair, one model per dtype.

    A query takes the cell of its eight enclosing nodes in log space and the linear model in {mnk, mn, mk, nk, m, n, k, 1}
    through them: eight equations, eight unknowns, hence exactly trilinear interpolation in (m, n, k). It is continuous, exact at
    nodes and on multilinear times, and positive inside the grid. It has no fixed
    matrix of features and is no scikit-learn regressor; `sklearn.base.clone` copies its parameters all the same.

    Parameters
    ----------
    node_value : {"median", "mean"}
        What stands for the repeats of a node; the paper takes the mean.
    outside : {"trilinear", "rate", "error"}
        Beyond the grid: extrapolate the border cell, hold the border's rate of operations, or refuse. Flagged in any case.
    missing_pair : {"error", "nearest"}
        A flag pair never measured: refuse, or take the pair that differs in one flag times the median effect of that flag. Flagged.

    Attributes
    ----------
    lattices_ : dict of str to Lattice
        By flag pair, ``"NN"``.
    cell_errors_ : CellErrors
        Relative errors inside cells, from half-step validation points where there are enough, else from left-out nodes.
    n_missing_ : dict of str to int
        By flag pair: cells with an unmeasured corner.

    References
    ----------
    Oyama et al. (SPRINT), eq. 6.
    """

    node_value: str = "median"
    outside: Outside = "trilinear"
    missing_pair: str = "error"

    def fit(self, X: pd.DataFrame | Mapping[str, ArrayLike], y: ArrayLike) -> GridLocal:
        """Gather measured nodes; equal (m, n, k, trans) are repeats.

        Parameters
        ----------
        X : DataFrame or mapping of columns
            ``m``, ``n``, ``k``: whole sizes >= 1 of C(m, n) = A(m, k) B(k, n); ``trans``: "NN", "TN", "NT" or "TT".
        y : array-like, shape (n_rows,)
            Seconds > 0.

        Raises
        ------
        DataError
            No rows, a missing column, or times that are not positive.
        UsageError
            Sizes that are not positive.
        """
        sizes, pairs = _queries(*(_column(X, name) for name in (*DIMENSIONS, "trans")))
        seconds = np.broadcast_to(np.asarray(y, dtype=float).ravel(), (len(sizes),))
        self._set(
            {
                pair: build_lattice(sizes[pairs == pair], seconds[pairs == pair], node_value=self.node_value)
                for pair in _distinct(pairs)
            }
        )
        return self

    @classmethod
    def from_table(cls, frame: pd.DataFrame, *, time: str = "cpu_s", **parameters: Any) -> GridLocal:
        """Fit on the rows of an ``sgemm.csv`` whose ``purpose`` is ``grid``, validate on those of purpose ``validation``."""
        purpose = frame["purpose"].to_numpy() if "purpose" in frame else np.full(len(frame), "grid")
        nodes, tests = frame[purpose != "validation"], frame[purpose == "validation"]
        model = cls(**parameters).fit(nodes, nodes[time])
        tests = tests[tests["trans"].isin(model.lattices_)]
        if len(tests):
            middle = tests.groupby(["trans", *DIMENSIONS], sort=True, observed=True)[time].median().reset_index()
            model.validate(middle["m"], middle["n"], middle["k"], middle["trans"], middle[time])
        return model

    def _set(self, lattices: Mapping[str, Lattice]) -> None:
        if not lattices:
            raise DataError("got no rows, expected measured sizes")
        self.lattices_ = dict(lattices)
        self.n_missing_ = {pair: n_incomplete(lattice) for pair, lattice in self.lattices_.items()}
        self.cell_errors_ = left_out_nodes(self.lattices_)

    def validate(self, m: ArrayLike, n: ArrayLike, k: ArrayLike, trans: ArrayLike, time_s: ArrayLike) -> GridLocal:
        """Keep the errors at half-step points: they say which cells switch kernels and how wide the interval must be.

        One row per point: its sizes, flag pair and seconds (the median of its repeats).
        """
        sizes, pairs = _queries(m, n, k, trans)
        measured = np.asarray(time_s, dtype=float).ravel()
        errors = CellErrors.gather(self.lattices_, sizes, pairs, measured, self.predict(m, n, k, trans))
        if len(errors.error) >= MIN_VALIDATION:
            self.cell_errors_ = errors
        self._validation = errors
        return self

    def predict(self, m: ArrayLike, n: ArrayLike, k: ArrayLike, trans: ArrayLike) -> FloatArray:
        """Seconds of each product, shape (n_queries,); sizes broadcast, one ``trans`` may stand for all.

        Raises
        ------
        DomainError
            A query outside the grid with ``outside="error"``, or a flag pair never measured with ``missing_pair="error"``.
        """
        sizes, pairs = _queries(m, n, k, trans)
        answers = np.empty(len(sizes))
        for pair in _distinct(pairs):
            rows = np.flatnonzero(pairs == pair)
            answers[rows] = self._predict_pair(pair, sizes[rows])
        return answers

    def _predict_pair(self, pair: str, sizes: FloatArray) -> FloatArray:
        if pair in self.lattices_:
            return lattice_time(self.lattices_[pair], sizes, self.outside)
        stand_in, factor = self._stand_in(pair)
        return factor * lattice_time(self.lattices_[stand_in], sizes, self.outside)

    def _stand_in(self, pair: str) -> tuple[str, float]:
        """The measured pair that differs in one flag, and what flipping that flag costs between two other measured pairs."""
        neighbours = [other for other in sorted(self.lattices_) if sum(a != b for a, b in zip(other, pair, strict=False)) == 1]
        if self.missing_pair != "nearest" or not neighbours:
            raise DomainError(
                f"got flag pair {pair!r}, expected one of {', '.join(sorted(self.lattices_))}",
                hint="Measure that pair, or allow the nearest one with missing_pair='nearest'.",
            )
        for near in neighbours:
            flag = next(i for i in range(2) if near[i] != pair[i])
            other = 1 - flag
            rivals = [
                q
                for q in self.lattices_
                if q[flag] == pair[flag] and q[other] != pair[other] and _flipped(q, flag) in self.lattices_
            ]
            if rivals:
                return near, median_ratio(self.lattices_[rivals[0]], self.lattices_[_flipped(rivals[0], flag)])
        return neighbours[0], 1.0

    def domain_reason(self, m: ArrayLike, n: ArrayLike, k: ArrayLike, trans: ArrayLike) -> NDArray[np.object_]:
        """Why each query is outside the measured domain, shape (n_queries,): ``"m, k"``, ``"corner"``, ``"trans"``; ``""`` inside.

        ``"corner"`` is a cell with an unmeasured corner, ``"trans"`` a flag pair without a grid.
        """
        sizes, pairs = _queries(m, n, k, trans)
        reasons = np.full(len(sizes), "trans", dtype=object)
        for pair in _distinct(pairs):
            rows = np.flatnonzero(pairs == pair)
            if pair in self.lattices_:
                reasons[rows] = domain_reasons(self.lattices_[pair], sizes[rows])
        return reasons

    def in_domain(self, m: ArrayLike, n: ArrayLike, k: ArrayLike, trans: ArrayLike) -> BoolArray:
        """Whether each query lies in a cell whose eight corners were measured, shape (n_queries,)."""
        return np.asarray(self.domain_reason(m, n, k, trans) == "", dtype=bool)

    def node_error(self, m: ArrayLike, n: ArrayLike, k: ArrayLike, trans: ArrayLike, *, kind: str = "mean") -> FloatArray:
        """Relative standard error that comes from the nodes' own scatter, shape (n_queries,).

        sqrt(sum w_i**2 s_i**2) over the corners for ``kind="mean"``, with the scatter of one repeat added for ``kind="run"``.
        """
        sizes, pairs = _queries(m, n, k, trans)
        spread = np.zeros(len(sizes))
        for pair in _distinct(pairs):
            rows = np.flatnonzero(pairs == pair)
            known = pair if pair in self.lattices_ else self._stand_in(pair)[0]
            spread[rows] = lattice_node_error(self.lattices_[known], sizes[rows], self.node_value, kind)
        return spread

    def predict_interval(
        self, m: ArrayLike, n: ArrayLike, k: ArrayLike, trans: ArrayLike, *, kind: str = "mean", level: float = 0.95
    ) -> Interval:
        """Bounds in seconds: scatter of the nodes, and quantiles of the relative error inside cells, added in quadrature.

        Parameters
        ----------
        kind : {"mean", "run"}
            Of the mean time of a product of that size, or of one run.
        level : float
            Coverage, 0 < level < 1.
        """
        predicted = self.predict(m, n, k, trans)
        node = ndtri(0.5 + level / 2.0) * self.node_error(m, n, k, trans, kind=kind)
        low, high = self.cell_errors_.log_quantiles(level)
        lower = predicted * np.exp(-np.hypot(node, low))
        return Interval(lower, predicted * np.exp(np.hypot(node, high)), level)

    def sample(
        self, m: ArrayLike, n: ArrayLike, k: ArrayLike, trans: ArrayLike, *, rng: np.random.Generator, size: int, kind: str = "mean"
    ) -> FloatArray:
        """Draws of the times, shape (size, n_queries), seconds; queries of one cell share the draw of their cell's error."""
        predicted = self.predict(m, n, k, trans)
        node = self.node_error(m, n, k, trans, kind=kind)
        sizes, pairs = _queries(m, n, k, trans)
        cells = np.full((len(sizes), 4), -1)
        for number, pair in enumerate(_distinct(pairs)):
            rows = np.flatnonzero(pairs == pair)
            known = self.lattices_[pair] if pair in self.lattices_ else self.lattices_[self._stand_in(pair)[0]]
            cells[rows] = np.column_stack([np.full(len(rows), number), known.cell_of(sizes[rows])])
        place = np.unique(cells, axis=0, return_inverse=True)[1].ravel()
        errors = self.cell_errors_.draw(rng, (size, int(place.max(initial=-1)) + 1))
        noise = rng.standard_normal((size, len(sizes)))
        return np.asarray(predicted * np.exp(noise * node - errors[:, place]))

    def coefficients(self, m: float, n: float, k: float, trans: str) -> pd.Series:
        """The eight coefficients of the query's cell, seconds per unit of each term, from the scaled 8 x 8 system.

        References
        ----------
        Oyama et al. (SPRINT), eq. 6.
        """
        lattice = self._known(trans)
        sizes = np.array([[m, n, k]], dtype=float)
        low, high, _ = boxes_of(lattice, sizes)
        ends = np.concatenate([low, high])
        corners = np.array([[lattice.axes[d][ends[c[d], d]] for d in range(3)] for c in CORNERS])
        design = gemm_terms(corners)
        scale = 2.0 ** np.round(np.log2(np.abs(design).max(axis=0)))
        seconds = lattice.corner_values(lattice.time_s, low, high)[:, 0]
        return pd.Series(np.linalg.solve(design / scale, seconds) / scale, index=list(TERMS), name="coef_s")

    def _known(self, pair: str) -> Lattice:
        if pair not in self.lattices_:
            raise DomainError(f"got flag pair {pair!r}, expected one of {', '.join(sorted(self.lattices_))}")
        return self.lattices_[pair]

    def residual_by_cell(self) -> pd.DataFrame:
        """Errors of the validation points (or left-out nodes) by cell, most expensive error first; see `CellErrors.by_cell`."""
        return getattr(self, "_validation", self.cell_errors_).by_cell()

    def measure_next(self, count: int = 10) -> pd.DataFrame:
        """Sizes to measure next: centres of the cells whose error costs most seconds, switching cells included."""
        cells = self.residual_by_cell().head(count)
        middles = {d: np.rint(np.sqrt(cells[f"{d}_low"] * cells[f"{d}_high"])).astype(np.int64) for d in DIMENSIONS}
        return pd.DataFrame(
            {
                "trans": cells["trans"],
                **middles,
                "error": cells["error"],
                "error_s": cells["error_s"],
                "switching": cells["switching"],
            }
        )

    def shell_errors(self) -> pd.DataFrame:
        """Hide the outermost shell of every lattice and predict it: one row of errors per flag pair and way to extrapolate."""
        from mlperf.models.validation.scores import relative_errors

        rows = []
        for pair, lattice in sorted(self.lattices_.items()):
            inner, sizes, seconds = without_shell(lattice)
            if len(sizes):
                ways = {way: lattice_time(inner, sizes, way) for way in OUTSIDE[:2]}
                rows += [
                    {"trans": pair, "outside": way, **relative_errors(answer, seconds).to_dict()} for way, answer in ways.items()
                ]
        return pd.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """Sizes, times and errors as plain lists; unmeasured nodes are null."""
        return {
            "node_value": self.node_value,
            "outside": self.outside,
            "missing_pair": self.missing_pair,
            "lattices": {pair: lattice_to_dict(lattice) for pair, lattice in sorted(self.lattices_.items())},
            "validation": self._validation.to_dict() if hasattr(self, "_validation") else None,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> GridLocal:
        """Rebuild the model of `to_dict`; predictions are bit-equal.

        Raises
        ------
        DataError
            With the JSON path of a missing, unknown or wrong value.
        """
        with Fields(document, path) as fields:
            outside: Any = fields.text("outside", OUTSIDE)
            model = cls(
                node_value=fields.text("node_value", ("median", "mean")),
                outside=outside,
                missing_pair=fields.text("missing_pair", ("error", "nearest")),
            )
            model._set({pair: lattice_from_dict(child) for pair, child in fields.named_children("lattices").items()})
            if not fields.absent("validation"):
                model._validation = CellErrors.from_fields(fields.child("validation"), model.lattices_)
                if len(model._validation.error) >= MIN_VALIDATION:
                    model.cell_errors_ = model._validation
        return model


def _flipped(pair: str, flag: int) -> str:
    letters = list(pair)
    letters[flag] = "N" if letters[flag] == "T" else "T"
    return "".join(letters)


def _column(X: Any, name: str) -> Any:
    try:
        return X[name]
    except (KeyError, IndexError, TypeError) as error:
        expected = f"a DataFrame or a mapping with the columns {', '.join((*DIMENSIONS, 'trans'))}"
        raise DataError(f"got no column {name!r}, expected {expected}") from error


def _queries(m: ArrayLike, n: ArrayLike, k: ArrayLike, trans: ArrayLike) -> tuple[FloatArray, NDArray[Any]]:
    arrays = np.broadcast_arrays(*(np.asarray(size, dtype=float) for size in (m, n, k)))
    sizes = np.stack([array.ravel() for array in arrays], axis=1)
    pairs = np.asarray(trans)
    pairs = np.broadcast_to(pairs.ravel() if pairs.ndim else pairs, (len(sizes),)).astype(str)
    if not np.all(sizes > 0):
        row = int(np.flatnonzero(~(sizes > 0).all(axis=1))[0])
        raise UsageError(f"got sizes {sizes[row].tolist()}, expected m, n, k > 0", place=f"row {row + 1}")
    return sizes, pairs


def _distinct(pairs: NDArray[Any]) -> list[str]:
    return sorted(pd.unique(pairs).tolist())
