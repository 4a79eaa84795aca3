"""Window arithmetic against torch's own convolutions and pools."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mlperf.core.errors import DataError
from mlperf.specs.network.layer import Layer
from mlperf.specs.network.output_shape import output_shape
from mlperf.specs.network.shape import Shape, n_windows, pair

sizes = st.tuples(st.integers(1, 14), st.integers(1, 14))
filters = st.tuples(st.integers(1, 4), st.integers(1, 4))
steps = st.tuples(st.integers(1, 3), st.integers(1, 3))
paddings = st.tuples(st.integers(0, 2), st.integers(0, 2))


def ours(layer: Layer, shape: Shape) -> tuple[int, ...] | None:
    try:
        found = output_shape(layer, (shape,))
    except DataError:
        return None
    return (found.n_maps, found.height, found.width)


def theirs(torch, module, shape: Shape) -> tuple[int, ...] | None:
    """Shape by torch's meta device: no numbers are computed."""
    try:
        return tuple(module.to("meta")(torch.empty(1, shape.n_maps, shape.height, shape.width, device="meta")).shape[1:])
    except RuntimeError:
        return None


@settings(max_examples=150)
@given(size=sizes, window=filters, stride=steps, padding=paddings, dilation=steps, groups=st.sampled_from([1, 2]))
def test_convolutions_agree_with_torch(size, window, stride, padding, dilation, groups):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    layer = Layer("c", "conv", n_maps=6, filter_size=window, stride=stride, padding=padding, dilation=dilation, groups=groups)
    module = torch.nn.Conv2d(4, 6, window, stride, padding, dilation, groups)
    assert ours(layer, Shape(4, *size)) == theirs(torch, module, Shape(4, *size))


@settings(max_examples=150)
@given(
    size=sizes,
    window=filters,
    stride=steps,
    padding=paddings,
    dilation=steps,
    ceil=st.booleans(),
    mode=st.sampled_from(["max", "average"]),
)
def test_pools_agree_with_torch(size, window, stride, padding, dilation, ceil, mode):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    assume(all(2 * each <= length for each, length in zip(padding, window, strict=True)))
    dilation = dilation if mode == "max" else (1, 1)
    layer = Layer("p", "pool", mode=mode, filter_size=window, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil)
    if mode == "max":
        module = torch.nn.MaxPool2d(window, stride, padding, dilation, ceil_mode=ceil)
    else:
        module = torch.nn.AvgPool2d(window, stride, padding, ceil_mode=ceil)
    assert ours(layer, Shape(3, *size)) == theirs(torch, module, Shape(3, *size))


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((224, 7, 2, 3, 1, False), 112),  # the first convolution of a residual network
        ((112, 3, 2, 1, 1, False), 56),  # and its pool
        ((224, 11, 4, 2, 1, False), 55),  # AlexNet
        ((55, 3, 2, 0, 1, False), 27),
        ((396, 3, 1, 0, 1, False), 394),  # eq. 2: x - c + 1
        ((5, 2, 2, 0, 1, False), 2),
        ((5, 2, 2, 0, 1, True), 3),
        ((5, 3, 1, 0, 2, False), 1),  # a dilated filter spans five elements
        ((4, 3, 1, 0, 2, False), 0),
        ((1, 1, 2, 0, 1, True), 1),
        ((3, 1, 3, 0, 1, True), 1),  # a second window would start beyond the input
    ],
)
def test_windows_by_hand(numbers, expected):
    assert n_windows(*numbers) == expected


def test_one_integer_means_a_square():
    assert pair(3) == (3, 3)
    assert pair((2, 5)) == (2, 5)


def test_a_shape_knows_its_elements():
    shape = Shape(3, 4, 5)
    assert (shape.map_size, shape.size, str(shape)) == (20, 60, "3 maps of 4 x 5")
