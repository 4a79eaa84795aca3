"""Padding that differs between the sides, against positions of the window counted one by one."""

from __future__ import annotations

from itertools import product

import pytest

from mlperf.core.errors import DataError
from mlperf.specs.importers.padding import equal_padding, same_padding
from mlperf.specs.network.shape import Shape, n_windows


def positions(size: int, extent: int, step: int, before: int, after: int) -> int:
    return sum(1 for start in range(0, before + size + after, step) if start + extent <= before + size + after)


@pytest.mark.parametrize("step", [1, 2, 3])
def test_as_many_outputs_as_the_foreign_graph(step):
    for size, filter_size, before, after in product((7, 8, 9), (2, 3, 5), (0, 1, 2), (0, 1, 2)):
        wanted = positions(size, filter_size, step, before, after)
        window = ((filter_size, 1), (step, 1), (1, 1))
        try:
            side, other = equal_padding(Shape(1, size, 4), window, (before, 0, after, 0), "here")
        except DataError:
            assert step == 1
            assert (before + after) % 2 == 1
            continue
        assert other == 0
        assert n_windows(size, filter_size, step, side, 1, False) == wanted


@pytest.mark.parametrize(("size", "filter_size", "step"), [(224, 3, 2), (112, 5, 2), (7, 2, 2), (15, 4, 3), (56, 3, 1)])
def test_same_padding_gives_the_input_divided_by_the_stride(size, filter_size, step):
    """TensorFlow's rule, which leaves one row too few at the start where stride is 2."""
    sides = same_padding(Shape(3, size, size), (filter_size,) * 2, (step,) * 2, (1, 1), "here")
    assert [n_windows(size, filter_size, step, side, 1, False) for side in sides] == [-(-size // step)] * 2


def test_an_even_filter_that_moves_by_one_is_refused():
    with pytest.raises(DataError, match="got 'same' padding of 1 rows and 1 columns"):
        same_padding(Shape(1, 8, 8), (2, 2), (1, 1), (1, 1), "here")
