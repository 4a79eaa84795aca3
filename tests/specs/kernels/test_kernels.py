"""The kernel list against Table 2, the access orders of eq. 5 and its published units."""

from __future__ import annotations

from collections import Counter

import pytest

from mlperf.core.errors import DataError
from mlperf.specs.kernels.kernels import FURTHER_KERNELS, GEMM_KERNELS, MEMORY_KERNELS, bytes_moved, gemm_flops, kernel_calls
from mlperf.specs.network.cnn import CnnSpec, Layer
from mlperf.specs.zoo.zoo import load_cnn, zoo_names

KIB, MIB = 2**10, 2**20


def by_kernel(cnn, subbatch_size, kernel):
    return {call.layer: call for call in kernel_calls(cnn, subbatch_size) if call.kernel == kernel}


def sizes(cnn, subbatch_size, kernel):
    return {layer: (call.m, call.n, call.k, call.trans) for layer, call in by_kernel(cnn, subbatch_size, kernel).items()}


# Net 2 of the four: x 16 14 6 2 1 1, x' 14 12 4 1 1, m 3 4 5 6 7 8, pools after 2 and 3, two fully connected layers.
NET2 = CnnSpec.from_sprint("net2", 16, (3, 4, 5, 6, 7, 8), (2, 3), 3)


def test_table_2_by_hand_on_net_2():
    """Each row of the corrected table, computed by hand for b = 10."""
    assert sizes(NET2, 10, "convolution") == {
        "conv1": (1960, 4, 27, "NN"),
        "conv2": (1440, 5, 36, "NN"),
        "conv3": (160, 6, 45, "NN"),
    }
    assert sizes(NET2, 10, "fc") == {"fc4": (10, 7, 24, "NN"), "fc5": (10, 8, 7, "NN")}
    assert sizes(NET2, 10, "dedw") == {
        "conv1": (27, 4, 1960, "TN"),
        "conv2": (36, 5, 1440, "TN"),
        "conv3": (45, 6, 160, "TN"),
        "fc4": (24, 7, 10, "TN"),
        "fc5": (7, 8, 10, "TN"),
    }
    assert sizes(NET2, 10, "dedb") == {
        "conv1": (1, 4, 1960, "NN"),
        "conv2": (1, 5, 1440, "NN"),
        "conv3": (1, 6, 160, "NN"),
        "fc4": (1, 7, 10, "NN"),
        "fc5": (1, 8, 10, "NN"),
    }
    assert sizes(NET2, 10, "dedx-fc") == {"fc5": (10, 7, 8, "NT"), "fc4": (10, 24, 7, "NT")}
    assert sizes(NET2, 10, "dedx-conv") == {"conv3": (160, 45, 6, "NT"), "conv2": (1440, 36, 5, "NT")}


def test_memory_kernels_by_hand_on_net_2():
    """Access orders of the design's table, in elements for one sample."""
    access = {(call.kernel, call.layer): call.access_bytes // 4 for call in kernel_calls(NET2, 1) if call.kernel in MEMORY_KERNELS}
    assert access == {
        ("im2col", "conv1"): 196 * 9 * 3,
        ("im2col", "conv2"): 144 * 9 * 4,
        ("im2col", "conv3"): 16 * 9 * 5,
        ("activation", "conv1"): 196 * 4,
        ("activation", "conv2"): 144 * 5,
        ("activation", "conv3"): 16 * 6,
        ("activation", "fc4"): 7,
        ("activation", "fc5"): 8,
        ("pool", "pool2"): 144 * 5,
        ("pool", "pool3"): 16 * 6,
        ("softmax", "fc5"): 8,
        ("unpool", "pool2"): 144 * 5,
        ("unpool", "pool3"): 16 * 6,
        ("activation_gradient", "conv1"): 196 * 4,
        ("activation_gradient", "conv2"): 144 * 5,
        ("activation_gradient", "conv3"): 16 * 6,
        ("activation_gradient", "fc4"): 7,
        ("col2im", "conv2"): 144 * 9 * 4,
        ("col2im", "conv3"): 16 * 9 * 5,
    }


def test_forward_comes_first_and_backward_runs_from_the_end():
    order = [(call.kernel, call.layer) for call in kernel_calls(NET2, 1)]
    assert order[:4] == [("im2col", "conv1"), ("convolution", "conv1"), ("activation", "conv1"), ("im2col", "conv2")]
    middle = order.index(("softmax", "fc5"))
    backward = ("dedw", "dedb", "dedx-fc", "dedx-conv", "col2im", "unpool", "activation_gradient")
    assert not any(kernel in backward for kernel, _ in order[:middle])
    assert all(kernel in backward for kernel, _ in order[middle + 1 :])
    assert order.index(("unpool", "pool3")) < order.index(("activation_gradient", "conv3")) < order.index(("dedw", "conv3"))
    assert order.index(("dedx-conv", "conv3")) + 1 == order.index(("col2im", "conv3"))
    assert order[-1] == ("dedw", "conv1")


def test_published_units_of_figure_5():
    """At b = 6 in single precision CNN-A's im2col moves 1013 MiB and its softmax 23.4 KiB."""
    a1 = load_cnn("a1")
    assert by_kernel(a1, 6, "im2col")["conv2"].access_bytes == 392**2 * 9 * 32 * 4 * 6
    assert max(call.access_bytes for call in by_kernel(a1, 6, "im2col").values()) / MIB == pytest.approx(1012.92, abs=0.005)
    (softmax,) = by_kernel(a1, 6, "softmax").values()
    assert softmax.access_bytes / KIB == pytest.approx(23.44, abs=0.005)


def test_largest_product_of_a1():
    """dedw(2) = 288 x 32 x 153664 b, and layer 2 holds 17 % of the multiply-accumulates."""
    a1 = load_cnn("a1")
    assert sizes(a1, 5, "dedw")["conv2"] == (288, 32, 153664 * 5, "TN")
    assert max(a1.layer_macs, key=a1.layer_macs.get) == "conv2"
    assert a1.layer_macs["conv2"] / a1.n_macs == pytest.approx(0.17, abs=0.005)


@pytest.mark.parametrize("subbatch_size", [1, 6])
def test_flop_identities(small_net, subbatch_size):
    """flop(dedw) = flop(forward); flop(dedx) = flop(forward) - flop(layer 1)."""
    cnn = small_net.spec
    flops = Counter()
    for call in kernel_calls(cnn, subbatch_size):
        flops[call.kernel] += call.n_flops
    forward = flops["convolution"] + flops["fc"]
    first = 2 * subbatch_size * cnn.layer_macs[cnn.layers[0].name]
    assert forward == subbatch_size * cnn.n_flops
    assert flops["dedw"] == forward
    assert flops["dedx-fc"] + flops["dedx-conv"] == forward - first
    assert flops["dedw"] + flops["dedx-fc"] + flops["dedx-conv"] == subbatch_size * cnn.n_flops_backward
    assert gemm_flops(cnn, subbatch_size) == sum(flops.values())


@pytest.mark.parametrize("name", zoo_names())
def test_every_call_of_the_zoo_is_known_unique_and_counts_what_the_network_counts(name):
    cnn = load_cnn(name)
    calls = kernel_calls(cnn, 2)
    assert len({(call.kernel, call.layer) for call in calls}) == len(calls)
    assert {call.kernel for call in calls} <= {*MEMORY_KERNELS, *FURTHER_KERNELS, *GEMM_KERNELS}
    products = [call for call in calls if call.kernel in GEMM_KERNELS]
    assert all((call.access_bytes == 0) == (call.kernel in GEMM_KERNELS) for call in calls)
    assert sum(call.n_flops for call in products if not call.kernel.startswith("ded")) == 2 * cnn.n_flops
    assert sum(call.n_flops for call in products if call.kernel.startswith(("dedw", "dedx"))) == 2 * cnn.n_flops_backward


def test_everything_is_proportional_to_the_subbatch_but_the_weights():
    one, four = kernel_calls(NET2, 1), kernel_calls(NET2, 4)
    assert [(call.kernel, call.layer) for call in one] == [(call.kernel, call.layer) for call in four]
    assert all(4 * a.access_bytes == b.access_bytes and 4 * a.n_flops == b.n_flops for a, b in zip(one, four, strict=True))


def test_calls_of_a_step_are_worked_out_once():
    assert kernel_calls(NET2, 10) is kernel_calls(CnnSpec.from_sprint("net2", 16, (3, 4, 5, 6, 7, 8), (2, 3), 3), 10)


def test_bytes_moved_of_one_product_by_hand():
    """5 -> 3 neurons on two samples: fc 2 5 + 5 3 + 2 3 elements, dedw 5 2 + 2 3 + 5 3, softmax 6."""
    cnn = CnnSpec("fc", 5, (1, 1), (Layer("fc", "fc", n_maps=3, bias=False),))
    assert [call.kernel for call in kernel_calls(cnn, 2)] == ["fc", "softmax", "dedw"]
    assert bytes_moved(cnn, 2) == 4 * (31 + 31 + 6)


def test_grouped_convolution_is_that_many_smaller_products():
    layers = (
        Layer("conv1", "conv", n_maps=8, filter_size=1),
        Layer("conv2", "conv", n_maps=12, filter_size=3, groups=4, padding=1),
    )
    calls = {call.kernel: call for call in kernel_calls(CnnSpec("grouped", 3, (10, 10), layers), 2) if call.layer == "conv2"}
    assert {(call.groups) for kernel, call in calls.items() if kernel in ("convolution", "dedw", "dedx-conv")} == {4}
    assert (calls["convolution"].m, calls["convolution"].n, calls["convolution"].k) == (200, 3, 18)
    assert (calls["dedw"].m, calls["dedw"].n, calls["dedw"].k) == (18, 3, 200)
    assert (calls["dedx-conv"].m, calls["dedx-conv"].n, calls["dedx-conv"].k) == (200, 18, 3)
    assert (calls["dedb"].n, calls["dedb"].groups) == (12, 1)
    assert calls["im2col"].access_bytes == 4 * 2 * 100 * 9 * 8


def test_a_residual_block_sums_gradients_where_paths_part():
    layers = (
        Layer("conv1", "conv", n_maps=4, filter_size=3, bias=False),
        Layer("norm1", "batch_norm"),
        Layer("relu1", "activation"),
        Layer("conv2", "conv", n_maps=4, filter_size=1, bias=False),
        Layer("sum", "add", inputs=("conv2", "relu1")),
        Layer("relu2", "activation"),
        Layer("global", "pool", mode="average", output_size=1),
        Layer("fc", "fc", n_maps=2),
    )
    calls = kernel_calls(CnnSpec("residual", 3, (8, 8), layers), 1)
    assert [(call.kernel, call.layer) for call in calls] == [
        ("im2col", "conv1"),
        ("convolution", "conv1"),
        ("batch_norm", "norm1"),
        ("activation", "relu1"),
        ("im2col", "conv2"),
        ("convolution", "conv2"),
        ("add", "sum"),
        ("activation", "relu2"),
        ("global_pool", "global"),
        ("fc", "fc"),
        ("activation", "fc"),
        ("softmax", "fc"),
        ("dedb", "fc"),
        ("dedw", "fc"),
        ("dedx-fc", "fc"),
        ("global_unpool", "global"),
        ("activation_gradient", "relu2"),
        ("dedw", "conv2"),
        ("dedx-conv", "conv2"),
        ("col2im", "conv2"),
        ("add_gradient", "relu1"),
        ("activation_gradient", "relu1"),
        ("batch_norm_gradient", "norm1"),
        ("dedw", "conv1"),
    ]
    access = {(call.kernel, call.layer): call.access_bytes for call in calls}
    assert access["add", "sum"] == access["add_gradient", "relu1"] == access["global_pool", "global"] == 4 * 36 * 4
    assert access["im2col", "conv2"] == 4 * 36 * 4, "a 1 x 1 convolution copies its input once"


def test_a_bias_without_an_activation_is_added_and_has_no_gradient_pass():
    layers = (
        Layer("conv1", "conv", n_maps=4, filter_size=3),
        Layer("norm1", "batch_norm"),
        Layer("conv2", "conv", n_maps=2, filter_size=3),
        Layer("tanh", "activation", function="tanh"),
        Layer("drop", "dropout"),
    )
    calls = [(call.kernel, call.layer) for call in kernel_calls(CnnSpec("bias", 3, (8, 8), layers), 1)]
    assert [each for each in calls if each[0] == "activation"] == [
        ("activation", "conv1"),
        ("activation", "conv2"),
        ("activation", "drop"),
    ]
    assert [each for each in calls if each[0] == "activation_gradient"] == [
        ("activation_gradient", "drop"),
        ("activation_gradient", "conv2"),
    ]


def test_concat_and_average_pools_have_their_kernels():
    layers = (
        Layer("conv1", "conv", n_maps=4, filter_size=3),
        Layer("left", "pool", inputs=("conv1",), mode="average", filter_size=3, stride=1, padding=1),
        Layer("right", "conv", inputs=("conv1",), n_maps=6, filter_size=1),
        Layer("both", "concat", inputs=("left", "right")),
    )
    access = {(call.kernel, call.layer): call.access_bytes // 4 for call in kernel_calls(CnnSpec("concat", 3, (8, 8), layers), 1)}
    assert access["concat", "both"] == access["concat_gradient", "both"] == 36 * 10
    assert access["average_pool", "left"] == access["average_unpool", "left"] == 36 * 4 * 9
    assert access["add_gradient", "conv1"] == 36 * 4


def test_a_layer_that_learns_nothing_gets_no_gradient():
    layers = (Layer("pool", "pool", filter_size=2), Layer("conv", "conv", n_maps=2, filter_size=3))
    assert [call.kernel for call in kernel_calls(CnnSpec("pooled", 3, (8, 8), layers), 1)] == [
        "pool", "im2col", "convolution", "activation", "softmax", "dedb", "dedw",
    ]  # fmt: skip


def test_a_softmax_in_the_middle_is_refused():
    layers = (Layer("soft", "softmax"), Layer("fc", "fc", n_maps=2))
    with pytest.raises(DataError, match=r"layer 'soft'.*before the end"):
        kernel_calls(CnnSpec("attention", 3, (4, 4), layers), 1)


@pytest.mark.parametrize("subbatch_size", [0, -1, 1.5])
def test_a_subbatch_is_a_whole_number_of_samples(subbatch_size):
    with pytest.raises(DataError, match="whole number >= 1"):
        kernel_calls(NET2, subbatch_size)


def test_channels_and_maps_of_each_kernel():
    """Channels read and written, elements and width of the map before pooling, window."""
    found = {
        (call.kernel, call.layer): (call.maps_in, call.maps_out, call.map_size, call.row_size, call.window)
        for call in kernel_calls(NET2, 3)
        if call.layer in ("conv2", "pool2", "fc4")
    }
    assert found == {
        ("im2col", "conv2"): (4, 36, 144, 12, 9),
        ("convolution", "conv2"): (4, 5, 144, 12, 1),
        ("activation", "conv2"): (5, 5, 144, 12, 1),
        ("pool", "pool2"): (5, 5, 144, 12, 4),
        ("fc", "fc4"): (24, 7, 1, 1, 1),
        ("activation", "fc4"): (7, 7, 1, 1, 1),
        ("activation_gradient", "fc4"): (7, 7, 1, 1, 1),
        ("dedb", "fc4"): (24, 7, 1, 1, 1),
        ("dedw", "fc4"): (24, 7, 1, 1, 1),
        ("dedx-fc", "fc4"): (7, 24, 1, 1, 1),
        ("unpool", "pool2"): (5, 5, 144, 12, 4),
        ("activation_gradient", "conv2"): (5, 5, 144, 12, 1),
        ("dedb", "conv2"): (4, 5, 144, 12, 1),
        ("dedw", "conv2"): (4, 5, 144, 12, 1),
        ("dedx-conv", "conv2"): (5, 4, 144, 12, 1),
        ("col2im", "conv2"): (36, 4, 144, 12, 9),
    }


def test_a_bias_that_others_read_before_the_activation_is_a_pass_of_its_own():
    layers = (
        Layer("conv", "conv", n_maps=4, filter_size=3),
        Layer("relu", "activation"),
        Layer("sum", "add", inputs=("relu", "conv")),
    )
    calls = [(call.kernel, call.layer) for call in kernel_calls(CnnSpec("early", 3, (8, 8), layers), 1)]
    assert [each for each in calls if each[0].startswith("activation")] == [
        ("activation", "conv"),
        ("activation", "relu"),
        ("activation_gradient", "relu"),
    ]
