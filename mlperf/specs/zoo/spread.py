"""Random networks whose costs spread log-evenly between two bounds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from mlperf.core.errors import FitError, UsageError
from mlperf.specs.network.cnn import CnnSpec

MAX_DRAWS = 20_000

Draw = Callable[[str, np.random.Generator], CnnSpec]


def spread_by_cost(
    stem: str, n: int, seed: int | tuple[int, ...], cost: tuple[float, float], draw: Draw, maker: str
) -> list[CnnSpec]:
    """Draw ``n`` networks, one in each of ``n`` equal parts of ``cost`` on a logarithmic scale; names are dealt at random.

    Parameters
    ----------
    stem : str
        Of the names: ``stem00``, ``stem01``, ...
    n : int
        How many.
    seed : int or tuple of int
        The same seed gives the same networks.
    cost : (float, float)
        Bounds of the forward multiply-accumulates of one sample.
    draw : callable
        A network from a name and a generator of random numbers.
    maker : str
        Public function, for messages.

    Raises
    ------
    UsageError
        ``n`` below 1 or empty bounds.
    FitError
        No network within some part of the bounds was found.
    """
    if n < 1 or not 0 < cost[0] < cost[1]:
        raise UsageError(f"got n = {n}, cost = {cost}, expected n >= 1 and 0 < low < high", hint=f"{maker}(10, seed=0).")
    rng = np.random.default_rng(seed)
    edges = list(pairwise(np.geomspace(cost[0], cost[1], n + 1)))
    return [_draw_in(f"{stem}{number:02d}", rng, edges[part], draw, maker) for number, part in enumerate(rng.permutation(n))]


def _draw_in(name: str, rng: np.random.Generator, bounds: tuple[float, float], draw: Draw, maker: str) -> CnnSpec:
    low, high = bounds
    for _ in range(MAX_DRAWS):
        cnn = draw(name, rng)
        if low <= cnn.n_macs < high:
            return cnn
    raise FitError(f"found no network with {low:.3g} to {high:.3g} multiply-accumulates", place=maker)
