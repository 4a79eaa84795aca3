"""The product grid: nodes, region, operands."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from mlperf.collect.backends.backends import Backend, numpy_backend, torch_backend
from mlperf.collect.campaign.sgemm import Operands, SgemmPlan, fits, grid_points, measure_block, nodes, validation_points


@pytest.fixture(scope="module")
def numpy() -> Iterator[Backend]:
    with numpy_backend() as backend:
        yield backend


def test_half_power_nodes_are_the_rounded_powers_of_sqrt_2_without_duplicates() -> None:
    assert nodes(0.5, 64) == [1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64]


def test_full_power_nodes_are_powers_of_two() -> None:
    assert nodes(1.0, 64) == [1, 2, 4, 8, 16, 32, 64]


def test_validation_sizes_lie_at_quarter_offsets() -> None:
    sizes = {size for _, *size, _ in validation_points(200, seed=0) for size in size}
    assert sizes <= {round(2 ** ((2 * x + 1) / 4)) for x in range(60)}


def test_validation_points_are_distinct_and_in_the_region() -> None:
    points = validation_points(300, seed=0)
    assert len(set(points)) == 300
    assert all(fits(trans, (m, n, k)) for trans, m, n, k, _ in points)


@pytest.mark.parametrize("step", [0.5, 1.0])
def test_grid_holds_all_three_flag_pairs_and_the_row_vector_of_dedb(step: float) -> None:
    points = set(grid_points(step))
    assert {point[0] for point in points} == {"NN", "TN", "NT"}
    assert ("NN", 1, 256, 65536, "grid") in points
    assert len(points) == len(grid_points(step))


@pytest.mark.parametrize("trans", ["NN", "TN", "NT"])
def test_operands_have_the_sizes_and_strides_of_their_flags(numpy: Backend, trans: str) -> None:
    a, b, out = Operands(numpy, [(trans, 5, 7, 3, "grid")]).cut(trans, 5, 7, 3)
    assert (a.shape, b.shape, out.shape) == ((5, 3), (3, 7), (5, 7))
    assert a.flags.f_contiguous == (trans[0] == "T")
    assert b.flags.f_contiguous == (trans[1] == "T")
    np.matmul(a, b, out=out)
    np.testing.assert_allclose(out, np.einsum("ik,kj->ij", a, b), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("trans", ["NN", "TN", "NT"])
def test_torch_multiplies_the_same_operands(numpy: Backend, trans: str) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    with torch_backend() as torch:
        pairs = [(backend, *Operands(backend, [(trans, 5, 7, 3, "grid")]).cut(trans, 5, 7, 3)) for backend in (numpy, torch)]
        for backend, a, b, out in pairs:
            backend.multiply(a, b, out=out)
    np.testing.assert_allclose(pairs[0][3], pairs[1][3].numpy(), rtol=1e-5, atol=1e-5)


def test_times_are_per_call(numpy: Backend) -> None:
    points = [("NN", 2, 2, 2, "grid"), ("NT", 256, 256, 256, "grid")]
    small, large = measure_block(points, Operands(numpy, points))["sgemm"]
    assert 0 < small["cpu_s"] < large["cpu_s"]


def test_every_point_is_visited_within_three_rounds_and_short_ones_in_each(numpy: Backend) -> None:
    points = [("NN", 2, 2, 2, "grid"), *(("NN", 1024, 512, 1024 + number, "grid") for number in range(6))]
    plan = SgemmPlan(numpy, points, rounds=5)
    seen = [
        [key for visit in plan.visits(number, frozenset(), np.random.default_rng(number)) for key in visit.keys]
        for number in (1, 2, 3)
    ]
    assert all(("NN", "2", "2", "2", "grid") in keys for keys in seen)
    assert {key for keys in seen for key in keys} == {tuple(map(str, point)) for point in points}
    assert sum(map(len, seen)) == 3 + 6
