"""Plan of isolated products C(m, n) = A(m, k) B(k, n): a logarithmic grid, and validation points between its nodes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mlperf.collect.backends.backends import Backend
from mlperf.collect.protocol.protocol import Key, Rows, Visit

Point = tuple[str, int, int, int, str]

STEPS: Mapping[str, float] = {"half": 0.5, "full": 1.0}
"""Distance of grid nodes as a power of two."""

MOST_MULTIPLICATIONS = 2**31.5
MOST_ELEMENTS = 2**26
"""Bounds on m n k and on m k + k n + m n: one product takes at most about 0.1 s and 256 MB."""

ROWS_SIDE = 2**17
FAN_SIDE, LONG_SIDE = round(2**12.5), round(2**18.5)
NARROW_SIDE, WIDE_SIDE = 2**9, 2**12
FEW = 2**4
"""Largest sizes: rows x'^2 b of a map; fan of a convolution, and of a fully connected layer; maps of either.

A product is taken to be of a fully connected layer where the row side is at most `FEW` samples.
"""

LONG_S = 0.015
LONG_EVERY = 3
"""Products expected to take longer are visited in one round of so many: their noise is small, their cost is not."""

BLOCK_S = 0.25
"""Products between two looks at load and reference kernel."""

REPEAT_S = 4e-5
WARM_S = 2e-3
"""Short products are repeated for this long; those shorter than the second run once before, unmeasured."""

MOST_REPEATS = 40
VALIDATION_SHARE = 0.04
"""Points between the nodes, as a share of the grid's number."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Which of m, n, k is the narrow side (maps of a layer), the row side (x'^2 b, or samples), and the fan."""

    narrow: int
    rows: int
    fan: int


SIDES: Mapping[str, Sides] = {"NN": Sides(1, 0, 2), "TN": Sides(1, 2, 0), "NT": Sides(2, 0, 1)}


def nodes(step: float, largest: float, offset: float = 0.0) -> list[int]:
    """Rounded powers of two at exponents ``offset, offset + step, ...``, duplicates dropped, up to ``largest``."""
    exponents = np.arange(offset, math.log2(largest) + 1e-9, step)
    return sorted({round(2**exponent) for exponent in exponents.tolist()})


def fits(trans: str, size: tuple[int, int, int]) -> bool:
    """Whether a product lies in the measured region: what training steps ask for, within the bounds on time and memory."""
    m, n, k = size
    sides = SIDES[trans]
    narrow, rows, fan = size[sides.narrow], size[sides.rows], size[sides.fan]
    return (
        rows <= ROWS_SIDE
        and fan <= (LONG_SIDE if rows <= FEW else FAN_SIDE)
        and narrow <= (WIDE_SIDE if rows <= FEW else NARROW_SIDE)
        and m * n * k <= MOST_MULTIPLICATIONS
        and m * k + k * n + m * n <= MOST_ELEMENTS
    )


def grid_points(step: float) -> list[Point]:
    """All nodes of the grid, for the three flag pairs of a training step."""
    sizes = nodes(step, LONG_SIDE)
    return [
        (trans, m, n, k, "grid")
        for trans in SIDES
        for m in sizes
        for n in sizes
        if m * n <= MOST_ELEMENTS
        for k in sizes
        if fits(trans, (m, n, k))
    ]


def validation_points(count: int, seed: int) -> list[Point]:
    """``count`` random products whose sizes ``round(2**((2x + 1) / 4))`` lie between the half-power nodes."""
    rng = np.random.default_rng([seed, 1])
    sizes = [size for size in nodes(0.5, LONG_SIDE, offset=0.25) if size > 1]
    found: set[Point] = set()
    while len(found) < count:
        trans = str(rng.choice(list(SIDES)))
        m, n, k = (int(size) for size in rng.choice(sizes, size=3))
        if fits(trans, (m, n, k)):
            found.add((trans, m, n, k, "validation"))
    return sorted(found)


@dataclass(frozen=True, slots=True, eq=False)
class SgemmPlan:
    """Grid and validation points.

    Attributes
    ----------
    backend : Backend
        What multiplies.
    points : sequence of (trans, m, n, k, purpose)
        What is multiplied.
    rounds : int
        Visits of each.
    """

    backend: Backend
    points: Sequence[Point]
    rounds: int
    tables: tuple[str, ...] = ("sgemm",)
    key: tuple[str, ...] = ("trans", "m", "n", "k", "purpose")

    @property
    def nominal_s(self) -> float:
        """One round of all points, roughly; long products come in one round of so many."""
        every = min(LONG_EVERY, self.rounds)
        each = [expected_time_s(*point[1:4]) for point in self.points]
        return sum(time_s / every if time_s > LONG_S else max(time_s, REPEAT_S) + time_s for time_s in each)

    def visits(self, number: int, done: frozenset[Key], rng: np.random.Generator) -> list[Visit]:
        """Blocks of points in random order."""
        every = min(LONG_EVERY, self.rounds)
        shuffled = [
            self.points[index]
            for index in rng.permutation(len(self.points)).tolist()
            if (index + number) % every == 0 or expected_time_s(*self.points[index][1:4]) <= LONG_S
        ]
        left = [(point, key) for point in shuffled if (key := point_key(point)) not in done]
        operands = Operands(self.backend, self.points)
        found, block, expected_s = [], [], 0.0
        for point, key in left:
            block.append((point, key))
            expected_s += expected_time_s(*point[1:4]) + REPEAT_S
            if expected_s > BLOCK_S:
                found.append(visit(block, operands))
                block, expected_s = [], 0.0
        return [*found, visit(block, operands)] if block else found


def visit(block: Sequence[tuple[Point, Key]], operands: Operands) -> Visit:
    """One visit for a block of points."""
    return Visit(tuple(key for _, key in block), partial(measure_block, [point for point, _ in block], operands))


def point_key(point: Point) -> Key:
    """Key cells of a point as the table holds them."""
    return tuple(str(cell) for cell in point)


class Operands:
    """Three blocks of memory from which all matrices are cut: allocated and touched once, where the backend computes."""

    def __init__(self, backend: Backend, points: Sequence[Point]) -> None:
        self.backend = backend
        self._a = backend.filled(max(m * k for _, m, _, k, _ in points))
        self._b = backend.filled(max(k * n for _, _, n, k, _ in points))
        self._out = backend.filled(max(m * n for _, m, n, _, _ in points))

    def cut(self, trans: str, m: int, n: int, k: int) -> tuple[Any, Any, Any]:
        """A (m, k), B (k, n) and C (m, n); a transposed operand is a view on its row-major transpose."""
        a, b = self._a[: m * k], self._b[: k * n]
        left = a.reshape(k, m).T if trans[0] == "T" else a.reshape(m, k)
        right = b.reshape(n, k).T if trans[1] == "T" else b.reshape(k, n)
        return left, right, self._out[: m * n].reshape(m, n)


def expected_time_s(m: int, n: int, k: int) -> float:
    """A rough guess for planning only: 50 GFLOP/s, 10 GB/s and 1 us a call."""
    return 2 * m * n * k / 50e9 + 4 * (m * k + k * n + m * n) / 10e9 + 1e-6


def measure_block(points: Sequence[Point], operands: Operands) -> Rows:
    """Rows of a block, one a point: time of one call, a mean where short calls were repeated."""
    return {"sgemm": [measure_point(point, operands) for point in points]}


def measure_point(point: Point, operands: Operands) -> dict[str, Any]:
    """Time one matrix product of the plan."""
    trans, m, n, k, purpose = point
    a, b, out = operands.cut(trans, m, n, k)
    expected_s = expected_time_s(m, n, k)
    repeats = range(max(1, min(MOST_REPEATS, math.ceil(REPEAT_S / expected_s))))
    multiply = operands.backend.multiply

    def run() -> None:
        for _ in repeats:
            multiply(a, b, out=out)

    if expected_s < WARM_S:
        multiply(a, b, out=out)
    taken, count = operands.backend.timer.time(run), len(repeats)
    return {
        "trans": trans,
        "m": m,
        "n": n,
        "k": k,
        "purpose": purpose,
        "cpu_s": taken.cpu_s / count,
        "wall_s": taken.wall_s / count,
    }
