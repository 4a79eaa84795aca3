"""Random networks of the SPRINT form, spread evenly over their cost: the population of a measurement campaign."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mlperf.core.errors import FitError, UsageError
from mlperf.specs.network.cnn import CnnSpec

INPUT_SIZES = (24, 100)
N_CONVS = (2, 10)
N_FCS = (1, 3)
WIDTHS = (8, 256)
WIDTH_STEP = 8
FILTER_SIZE = 3
INPUT_MAPS = 3
POOL_PROBABILITY = 0.5
MAX_DRAWS = 50_000
COLUMN_COST = 25.0
"""Multiply-accumulates that take as long as building and folding back an im2col element: 2.5 ns against 0.1 ns on a CPU core."""


@dataclass(frozen=True, slots=True)
class _Draw:
    """One random network before it is built: x_0, m_0 .. m_L, the pooled convolutions, L_c."""

    input_size: int
    n_maps: tuple[int, ...]
    pools_after: tuple[int, ...]
    n_conv: int


def make_cnns(
    n: int = 40,
    seed: int = 0,
    cost: tuple[float, float] = (3e6, 6e8),
    max_params: int = 8_000_000,
    max_neurons: int = WIDTHS[1],
) -> list[CnnSpec]:
    """Draw ``n`` networks whose nominal costs lie log-evenly in ``cost``.

    Square inputs of 24 to 100 elements, 2 to 10 valid 3 x 3 convolutions, 2 x 2 pooling where the size is even and a coin
    says so, 1 to 3 fully connected layers, widths 8 to 256 in steps of 8. The interval ``cost`` is cut into ``n`` equal parts on
    a logarithmic scale and one network is drawn by rejection in each, so that the population spans the whole interval; names are
    dealt at random, so that no subset chosen by name is a subset chosen by cost.

    Parameters
    ----------
    n : int
        Networks, named ``cnn00``, ``cnn01``, ...
    seed : int
        The same seed gives the same networks.
    cost : (float, float)
        Bounds of the nominal cost of one sample: forward multiply-accumulates plus `COLUMN_COST` for every element of an
        im2col matrix. One unit takes about 0.1 ns of a CPU core in a training step.
    max_params : int
        No network has more parameters.
    max_neurons : int
        Widest fully connected layer.

    Raises
    ------
    UsageError
        ``n`` below 1 or empty bounds.
    FitError
        No network within these bounds was found.
    """
    if n < 1 or not 0 < cost[0] < cost[1]:
        raise UsageError(
            f"got n = {n}, cost = {cost}, expected n >= 1 and 0 < low < high", hint="For example make_cnns(40, seed=0)."
        )
    rng = np.random.default_rng(seed)
    edges = list(pairwise(np.geomspace(cost[0], cost[1], n + 1)))
    digits = max(2, len(str(n - 1)))
    return [
        _draw_in(f"cnn{number:0{digits}d}", rng, edges[part], max_params, max_neurons)
        for number, part in enumerate(rng.permutation(n))
    ]


def _draw_in(name: str, rng: np.random.Generator, bounds: tuple[float, float], max_params: int, max_neurons: int) -> CnnSpec:
    for _ in range(MAX_DRAWS):
        draw = _draw(rng, max_neurons)
        if draw is None:
            continue
        cost, n_params = _cost(draw)
        if bounds[0] <= cost < bounds[1] and n_params <= max_params:
            return CnnSpec.from_sprint(name, draw.input_size, draw.n_maps, draw.pools_after, draw.n_conv, FILTER_SIZE)
    raise FitError(
        f"found no network with a nominal cost of {bounds[0]:.3g} to {bounds[1]:.3g} and at most {max_params} parameters",
        place="make_cnns",
        hint="Widen cost or raise max_params.",
    )


def _draw(rng: np.random.Generator, max_neurons: int) -> _Draw | None:
    """One network, or nothing where its maps shrink below the filter."""
    input_size = int(rng.integers(INPUT_SIZES[0], INPUT_SIZES[1], endpoint=True))
    n_conv = int(rng.integers(N_CONVS[0], N_CONVS[1], endpoint=True))
    n_fc = int(rng.integers(N_FCS[0], N_FCS[1], endpoint=True))
    widths = _widths(rng, (*n_conv * (WIDTHS[1],), *n_fc * (max_neurons,)))
    coins = rng.random(n_conv) < POOL_PROBABILITY
    size, pools = input_size, []
    for number in range(1, n_conv + 1):
        if size < FILTER_SIZE:
            return None
        size -= FILTER_SIZE - 1
        if coins[number - 1] and size % 2 == 0:
            pools.append(number)
            size //= 2
    return _Draw(input_size, (INPUT_MAPS, *widths), tuple(pools), n_conv)


def _widths(rng: np.random.Generator, widest: tuple[int, ...]) -> list[int]:
    """Log-uniform multiples of `WIDTH_STEP`, one up to each of ``widest``."""
    steps = np.rint(np.exp(rng.uniform(np.log(WIDTHS[0]), np.log(widest))) / WIDTH_STEP)
    return [int(step) * WIDTH_STEP for step in steps]


def _cost(draw: _Draw) -> tuple[float, int]:
    """Nominal cost of one sample, and parameters, with the sizes of eqs. 2 and 3 of Oyama et al."""
    size, cost, n_params = draw.input_size, 0.0, 0
    for number, (maps_in, maps_out) in enumerate(pairwise(draw.n_maps), start=1):
        is_conv = number <= draw.n_conv
        fan = maps_in * (FILTER_SIZE**2 if is_conv else size**2)
        size = size - FILTER_SIZE + 1 if is_conv else 1
        cost += size**2 * fan * (maps_out + COLUMN_COST * is_conv)
        n_params += (fan + 1) * maps_out
        if number in draw.pools_after:
            size //= 2
    return cost, n_params
