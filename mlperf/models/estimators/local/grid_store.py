"""A lattice as plain lists and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields
from mlperf.models.estimators.local.grid_lattice import DIMENSIONS, Lattice


def lattice_to_dict(lattice: Lattice) -> dict[str, Any]:
    """Axes, flat numbers of the measured nodes, their times, scatter and repeats."""
    nodes = lattice.node_sizes()
    place = tuple(nodes.T)
    return {
        **{d: axis.astype(int).tolist() for d, axis in zip(DIMENSIONS, lattice.axes, strict=True)},
        "node": np.ravel_multi_index(place, lattice.time_s.shape).tolist(),
        "time_s": lattice.time_s[place].tolist(),
        "run_std_s": [None if np.isnan(value) else value for value in lattice.run_std_s[place].tolist()],
        "n_repeats": lattice.n_repeats[place].tolist(),
    }


def lattice_from_dict(fields: Fields) -> Lattice:
    """Read back `lattice_to_dict`; DataError with the JSON path of what is wrong."""
    with fields:
        axes = tuple(fields.numbers(d, lower=1.0) for d in DIMENSIONS)
        shape = tuple(len(axis) for axis in axes)
        nodes = np.array(fields.integers("node", upper=int(np.prod(shape)) - 1), dtype=np.int64)
        tables = [np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape)]
        tables[0].flat[nodes] = fields.numbers("time_s", len(nodes), lower=0.0)
        tables[1].flat[nodes] = [np.nan if value is None else float(value) for value in fields.items("run_std_s", len(nodes))]
        tables[2].flat[nodes] = fields.integers("n_repeats", len(nodes))
    m, n, k = axes
    if any(len(axis) == 0 or np.any(np.diff(axis) <= 0) for axis in axes):
        raise DataError("got an axis that is empty or not ascending", place=fields.path)
    return Lattice((m, n, k), tables[0], tables[1], tables[2].astype(np.int64))
