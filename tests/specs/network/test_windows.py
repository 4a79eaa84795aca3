"""Windows of adaptive pools are those that torch walks."""

from __future__ import annotations

import pytest

from mlperf.specs.network.layer import Layer
from mlperf.specs.network.shape import Shape
from mlperf.specs.network.windows import adaptive_extents, pool_access, pool_window


@pytest.mark.parametrize(("whole", "parts"), [(7, 5), (5, 3), (8, 4), (1, 7), (13, 6), (6, 1)])
def test_extents_are_counted_element_by_element(whole: int, parts: int) -> None:
    """Each element belongs to a window whose share of the side it overlaps."""
    share = whole / parts
    counted = [
        sum(1 for row in range(whole) if row + 1 > part * share + 1e-9 and row < (part + 1) * share - 1e-9) for part in range(parts)
    ]
    assert adaptive_extents(whole, parts) == counted


def test_the_largest_window_and_all_that_windows_touch() -> None:
    layer = Layer(name="pool", kind="pool", mode="average", output_size=(5, 3))
    source, target = Shape(4, 7, 5), Shape(4, 5, 3)
    assert pool_window(layer, source) == 3 * 3
    assert pool_access(layer, source, target) == 4 * (2 + 2 + 3 + 2 + 2) * (2 + 3 + 2)


def test_windows_that_tile_touch_the_input_once() -> None:
    layer = Layer(name="pool", kind="pool", mode="average", output_size=(2, 2))
    assert pool_window(layer, Shape(3, 6, 4)) == 6
    assert pool_access(layer, Shape(3, 6, 4), Shape(3, 2, 2)) == 6 * 4 * 3
