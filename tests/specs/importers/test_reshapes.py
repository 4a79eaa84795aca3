"""What other sizes of a sample become."""

from __future__ import annotations

import pytest

from mlperf.specs.importers.imported import FLAT, TOKENS_LAST, Imported
from mlperf.specs.importers.reshapes import groups_swapped, reshaped
from mlperf.specs.network.cnn import Shape


def read(layout: str = "") -> Imported:
    """Six maps of 4 x 5, or as many numbers in another order."""
    shape = {FLAT: Shape(120, 1, 1), TOKENS_LAST: Shape(6, 20, 1)}.get(layout, Shape(6, 4, 5))
    found = Imported("net", shape, aliases={"x": "input"})
    if layout:
        found.layouts["x"] = layout
    return found


@pytest.mark.parametrize(
    ("layout", "sizes", "kinds", "shape"),
    [
        ("", (0, 6, 4, 5), [], Shape(6, 4, 5)),
        ("", (-1, 6, 4, 5), [], Shape(6, 4, 5)),
        ("", (1, -1), ["flatten"], Shape(120, 1, 1)),
        ("", (0, 0, -1), ["tokens"], Shape(6, 20, 1)),
        (FLAT, (-1, 6, 4, 5), ["unflatten"], Shape(6, 4, 5)),
        (FLAT, (0, 6, -1, 5), ["unflatten"], Shape(6, 4, 5)),
        (FLAT, (0, 120, 1, 1), [], Shape(120, 1, 1)),
        (TOKENS_LAST, (0, 6, 4, 5), ["unflatten"], Shape(6, 4, 5)),
    ],
)
def test_sizes_that_hold_a_sample(layout, sizes, kinds, shape):
    found = read(layout)
    assert reshaped(found, "y", "x", sizes)
    assert [layer.kind for layer in found.layers] == kinds
    assert found.shape("y") == shape


@pytest.mark.parametrize("sizes", [(-1, 6, -1), (0, 7, -1), (0, 4, 6, 5), (240,), (-1, 60), (0, -2, 60), (0, 6, 0, 5, 0)])
def test_sizes_that_do_not_hold_a_sample_or_mix_its_maps(sizes):
    found = read()
    assert not reshaped(found, "y", "x", sizes)
    assert not found.layers


def test_rows_of_groups_become_columns_and_maps_again():
    found = read()
    assert reshaped(found, "rows", "x", (0, 2, 3, 4, 5))
    assert not reshaped(found, "y", "rows", (0, 3, 2, 4, 5))
    assert groups_swapped(found, "columns", "rows", (0, 2, 1, 3, 4))
    assert reshaped(found, "y", "columns", (0, -1, 4, 5))
    assert [(layer.kind, layer.groups) for layer in found.layers] == [("shuffle", 2)]
