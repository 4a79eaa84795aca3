"""Library calls of a training step: which there are, and the sizes they carry."""

from __future__ import annotations

import pytest

from mlperf.core.errors import DataError
from mlperf.datasets.dictionary.schema import KERNEL_NAMES, LIBRARY_GEMMS
from mlperf.specs import CnnSpec, Layer, kernel_calls, library_calls, load_cnn, zoo_names

NET = CnnSpec.from_sprint("net", 12, (3, 4, 5, 6), (1,), 2)


def test_calls_of_a_small_network_by_hand() -> None:
    """12 - 3 + 1 = 10, pooled to 5; 5 - 3 + 1 = 3, so 45 inputs of the last layer; three samples."""
    found = [(call.kernel, call.layer, call.m, call.n, call.k) for call in library_calls(NET, 3)]
    names = [layer.name for layer in NET.layers]
    conv1, conv2, fc3 = (name for name in names if NET[name].kind in ("conv", "fc"))
    relus = [name for name in names if NET[name].kind == "activation"]
    (pool,) = (name for name in names if NET[name].kind == "pool")
    assert found[:6] == [
        ("conv_forward", conv1, 300, 4, 27),
        ("activation_forward", relus[0], 0, 0, 0),
        ("pool_forward", pool, 0, 0, 0),
        ("conv_forward", conv2, 27, 5, 36),
        ("activation_forward", relus[1], 0, 0, 0),
        ("fc_forward", fc3, 3, 6, 45),
    ]
    backward = [each for each in found if each[0].endswith("_backward")]
    assert backward == [
        ("fc_backward", fc3, 3, 6, 45),
        ("activation_backward", relus[1], 0, 0, 0),
        ("conv_backward", conv2, 27, 5, 36),
        ("pool_backward", pool, 0, 0, 0),
        ("activation_backward", relus[0], 0, 0, 0),
        ("conv_backward", conv1, 300, 4, 27),
    ]


@pytest.mark.parametrize("name", zoo_names())
def test_products_carry_all_multiply_accumulates_of_the_forward_pass(name: str) -> None:
    cnn = load_cnn(name)
    forward = [call for call in library_calls(cnn, 2) if call.kernel in LIBRARY_GEMMS and call.kernel.endswith("_forward")]
    assert sum(call.m * call.n * call.k * call.groups for call in forward) == 2 * cnn.n_macs


@pytest.mark.parametrize("name", zoo_names())
def test_kernel_names_stand_in_the_dictionary_and_each_call_once(name: str) -> None:
    calls = library_calls(load_cnn(name), 1)
    assert {call.kernel for call in calls} <= set(KERNEL_NAMES)
    assert len({(call.kernel, call.layer) for call in calls}) == len(calls)


@pytest.mark.parametrize("name", ["resnet18", "alexnet"])
def test_calls_shared_with_the_explicit_form_have_the_same_sizes(name: str) -> None:
    cnn = load_cnn(name)
    explicit = {(call.kernel, call.layer): call for call in kernel_calls(cnn, 2)}
    shared = [call for call in library_calls(cnn, 2) if (call.kernel, call.layer) in explicit]
    assert {call.kernel for call in shared} >= {"softmax"}
    assert all(call == explicit[call.kernel, call.layer] for call in shared)


def test_what_only_looks_at_memory_differently_is_no_call() -> None:
    layers = (
        Layer("c", "conv", n_maps=2, filter_size=1),
        Layer("i", "activation", function="identity"),
        Layer("two", "concat", inputs=("c", "i")),
        Layer("flat", "flatten"),
        Layer("f", "fc", n_maps=2),
        Layer("s", "softmax"),
    )
    found = [(call.kernel, call.layer) for call in library_calls(CnnSpec("views", 1, 2, layers), 1)]
    assert found == [
        ("conv_forward", "c"),
        ("concat_forward", "two"),
        ("fc_forward", "f"),
        ("softmax", "s"),
        ("fc_backward", "f"),
        ("add_gradient", "c"),
        ("conv_backward", "c"),
    ]


def test_no_sub_batch_is_an_error() -> None:
    with pytest.raises(DataError, match="whole number >= 1"):
        library_calls(NET, 0)
