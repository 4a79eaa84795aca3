"""Parts of networks: their layers by name and kind."""

from __future__ import annotations

from mlperf.specs.network.layer import Layer
from mlperf.specs.zoo.parts import conv_norm, pooled, residual_block


def test_a_convolution_keeps_the_size_and_has_its_norm() -> None:
    conv, norm = conv_norm("stem", 8, 5, 2, inputs=("input",))
    assert (conv.inputs, conv.filter_size, conv.stride, conv.padding, conv.bias) == (("input",), (5, 5), (2, 2), (2, 2), False)
    assert norm == Layer("stem_norm", "batch_norm")


def test_a_shortcut_is_the_input_unless_sizes_or_maps_change() -> None:
    plain = list(residual_block("block", "before", 8, ((8, 3, 1, 1), (8, 3, 1, 1))))
    assert plain[-2].inputs == ("block_conv2_norm", "before")
    for path in (((8, 3, 2, 1), (8, 3, 1, 1)), ((8, 3, 1, 1), (16, 3, 1, 1))):
        assert list(residual_block("block", "before", 8, path))[-2].inputs == ("block_conv2_norm", "block_shortcut_norm")


def test_pooling_ends_in_a_vector() -> None:
    assert [layer.kind for layer in pooled()] == ["pool", "flatten"]
