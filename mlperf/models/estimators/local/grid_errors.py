"""Errors inside the cells of a grid: from half-step points, or from nodes predicted without themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields
from mlperf.models.estimators.local.grid_lattice import DIMENSIONS, Lattice, corner_weights

SWITCHING = 3.0
"""A cell whose error is more than this many times the median error holds a change of kernel."""


@dataclass(frozen=True, slots=True, eq=False)
class CellErrors:
    """log(predicted / measured) of points inside cells.

    ``error`` (n_points,), ``time_s`` the measured seconds (n_points,), ``pairs`` their flag pairs, ``low`` and ``high`` the sizes
    at the ends of the cell of each point, shape (n_points, 3).
    """

    error: FloatArray
    time_s: FloatArray
    pairs: NDArray[Any]
    low: IntArray
    high: IntArray

    @classmethod
    def gather(
        cls, lattices: Mapping[str, Lattice], sizes: FloatArray, pairs: NDArray[Any], measured: FloatArray, predicted: FloatArray
    ) -> CellErrors:
        """Errors of points, each with its cell; points outside the grid of their pair are left out."""
        kept = np.array([pair in lattices for pair in pairs], dtype=bool)
        low, high = np.zeros(sizes.shape, dtype=np.int64), np.zeros(sizes.shape, dtype=np.int64)
        for pair, lattice in lattices.items():
            rows = np.flatnonzero(pairs == pair)
            kept[rows] &= ~lattice.outside(sizes[rows]).any(axis=1)
            low[rows], high[rows] = _ends(lattice, lattice.cell_of(sizes[rows]))
        return cls(np.log(predicted[kept] / measured[kept]), measured[kept], pairs[kept], low[kept], high[kept])

    def log_quantiles(self, level: float) -> tuple[float, float]:
        """How far below and above a prediction the measured time lies on the log scale, both >= 0; 0 without points."""
        if len(self.error) == 0:
            return 0.0, 0.0
        below, above = np.quantile(self.error, [0.5 + level / 2.0, 0.5 - level / 2.0])
        return max(float(below), 0.0), max(-float(above), 0.0)

    def draw(self, rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
        """Errors drawn with replacement, of the shape asked for; zeros without points."""
        return rng.choice(self.error, shape) if len(self.error) else np.zeros(shape)

    def by_cell(self) -> pd.DataFrame:
        """One row per cell: its ends, ``n_points``, median ``error`` and ``max_error`` (relative), whether it is ``switching``.

        The most expensive cell comes first: ``error_s`` is the error in seconds.
        """
        ends = {
            f"{d}_{end}": table[:, i] for end, table in (("low", self.low), ("high", self.high)) for i, d in enumerate(DIMENSIONS)
        }
        frame = pd.DataFrame({"trans": self.pairs, **ends, "relative": np.abs(np.expm1(self.error)), "time_s": self.time_s})
        keys = ["trans", *ends]
        table = (
            frame.groupby(keys, sort=True)
            .agg(
                n_points=("relative", "size"),
                error=("relative", "median"),
                max_error=("relative", "max"),
                time_s=("time_s", "median"),
            )
            .reset_index()
        )
        table["error_s"] = table["error"] * table["time_s"]
        table["switching"] = table["error"] > SWITCHING * table["error"].median()
        return table.sort_values("error_s", ascending=False, kind="stable").reset_index(drop=True)

    def to_dict(self) -> dict[str, Any]:
        """State as plain lists."""
        return {
            "error": self.error.tolist(),
            "time_s": self.time_s.tolist(),
            "pairs": [str(pair) for pair in self.pairs],
            "low": self.low.tolist(),
            "high": self.high.tolist(),
        }

    @classmethod
    def from_fields(cls, fields: Fields, lattices: Mapping[str, Lattice]) -> CellErrors:
        """Read back `to_dict`; DataError where a flag pair has no lattice."""
        with fields:
            error = fields.numbers("error")
            count = len(error)
            pairs = fields.texts("pairs", count)
            unknown = sorted(set(pairs) - set(lattices))
            if unknown:
                raise DataError(
                    f"got flag pair {unknown[0]!r}, expected one of {', '.join(sorted(lattices))}", place=f"{fields.path}.pairs"
                )
            low, high = (fields.matrix(end, count, 3).astype(np.int64) for end in ("low", "high"))
            return cls(error, fields.numbers("time_s", count, lower=0.0), np.array(pairs, dtype=str), low, high)


def left_out_nodes(lattices: Mapping[str, Lattice]) -> CellErrors:
    """Errors of nodes predicted from the cell of doubled width around them.

    On an axis where the node is the first or the last one it stays on the side of the box.
    """
    parts = [_left_out(lattice, pair) for pair, lattice in sorted(lattices.items())]
    return CellErrors(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _left_out(lattice: Lattice, pair: str) -> tuple[FloatArray, FloatArray, NDArray[Any], IntArray, IntArray]:
    nodes = lattice.node_sizes()
    last = np.array(lattice.time_s.shape) - 1
    interior = (nodes > 0) & (nodes < last)
    nodes, interior = nodes[interior.any(axis=1)], interior[interior.any(axis=1)]
    low, high = nodes - interior, nodes + interior
    corners = lattice.corner_values(lattice.time_s, low, high)
    complete = np.isfinite(corners).all(axis=0)
    nodes, low, high, corners = nodes[complete], low[complete], high[complete], corners[:, complete]
    sizes = np.stack([lattice.axes[d][nodes[:, d]] for d in range(3)], axis=1)
    predicted = (corner_weights(lattice.fractions(sizes, low, high)) * corners).sum(axis=0)
    measured = lattice.time_s[tuple(nodes.T)]
    ends = _ends(lattice, lattice.cell_of(sizes))
    return np.log(predicted / measured), measured, np.full(len(nodes), pair), *ends


def _ends(lattice: Lattice, cell: IntArray) -> tuple[IntArray, IntArray]:
    low = np.stack([axis[cell[:, d]] for d, axis in enumerate(lattice.axes)], axis=1)
    high = np.stack([axis[np.minimum(cell[:, d] + 1, len(axis) - 1)] for d, axis in enumerate(lattice.axes)], axis=1)
    return low.astype(np.int64), high.astype(np.int64)
