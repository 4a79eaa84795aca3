"""Characteristics of library layers, by hand and against the networks' own counts; which form a backend's kernels belong to."""

from __future__ import annotations

import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.features.network.kernels import EXPLICIT, LIBRARY, describe_rows, form_of, kernel_table, kernel_tables
from mlperf.features.network.layer_terms import fitted_kernels
from mlperf.specs import CnnSpec, Layer, load_cnn

NET = CnnSpec(
    "net",
    3,
    (8, 6),
    (
        Layer("first", "conv", n_maps=4, filter_size=3, stride=2, padding=1),
        Layer("act", "activation"),
        Layer("second", "conv", n_maps=8, filter_size=1, groups=2, bias=False),
        Layer("last", "fc", n_maps=10),
    ),
)


def row(kernel: str, layer: str) -> pd.Series:
    table = kernel_table(NET, 5, LIBRARY)
    (index,) = table.index[(table["kernel"] == kernel) & (table["layer"] == layer)]
    return table.loc[index]


def test_the_first_layer_has_one_product_backward_and_the_others_two() -> None:
    assert row("conv_forward", "first")["products"] == row("conv_backward", "first")["products"] == 1
    assert row("conv_backward", "second")["products"] == row("fc_backward", "last")["products"] == 2


def test_touched_bytes_are_input_output_and_parameters() -> None:
    """8 x 6 becomes 4 x 3: 3 x 48 numbers in and 4 x 12 out of a sample, 4 x (27 + 1) parameters; and so on."""
    assert row("conv_forward", "first")["touched_bytes"] == 4 * (5 * (144 + 48) + 112)
    assert row("conv_backward", "second")["touched_bytes"] == 4 * (5 * (48 + 96) + 8 * 2)
    assert row("fc_forward", "last")["touched_bytes"] == 4 * (5 * (96 + 10) + 10 * 97)


def test_sizes_of_a_grouped_strided_convolution() -> None:
    found = row("conv_forward", "second")
    assert (found["m"], found["n"], found["k"], found["groups"]) == (5 * 12, 4, 2, 2)
    assert (found["maps_in"], found["maps_out"], found["row_size"]) == (4, 8, 3)


@pytest.mark.parametrize("name", ["alexnet", "resnet18"])
def test_products_count_the_work_of_both_passes(name: str) -> None:
    """2 FLOPs a multiply-accumulate: the network's own counts forward and backward."""
    cnn = load_cnn(name)
    table = kernel_table(cnn, 3, LIBRARY)
    flops = 2 * table["products"] * table["groups"] * table["m"] * table["n"] * table["k"]
    assert flops.sum() == 3 * (cnn.n_flops + cnn.n_flops_backward)


def test_names_of_kernels_tell_the_form() -> None:
    assert form_of(["softmax", "conv_forward"]) is LIBRARY
    assert form_of(["softmax", "convolution", "im2col"]) is EXPLICIT
    assert kernel_table(NET, 1).equals(kernel_table(NET, 1, EXPLICIT))
    assert "products" not in kernel_table(NET, 1)


@pytest.mark.parametrize("form", [EXPLICIT, LIBRARY], ids=lambda form: form.name)
def test_measured_rows_find_their_characteristics(form: object) -> None:
    listed = kernel_tables([(NET, 2), (NET, 4)], form)
    rows = listed[["cnn", "subbatch_size", "kernel", "layer"]].assign(time_s=1.0).sample(frac=1, random_state=0)
    described = describe_rows(rows, {"net": NET})
    assert len(described) == len(listed)
    assert not described.isna().any(axis=None)


def test_a_row_of_the_other_form_is_named() -> None:
    rows = pd.DataFrame(
        {"cnn": "net", "subbatch_size": 2, "kernel": ["conv_forward", "im2col"], "layer": ["first", "second"], "time_s": 1.0}
    )
    with pytest.raises(DataError, match="'im2col' on layer 'second'") as caught:
        describe_rows(rows, {"net": NET})
    assert "library layers" in str(caught.value)


def test_filters_of_single_maps_are_code_of_their_own_where_a_model_knows_it() -> None:
    calls = pd.DataFrame(
        {"kernel": ["conv_forward", "conv_backward", "conv_forward", "fc_forward"], "groups": [8, 8, 2, 1], "n": [1, 1, 4, 1]}
    )
    assert fitted_kernels(calls).tolist() == ["depthwise_conv_forward", "depthwise_conv_backward", "conv_forward", "fc_forward"]
    known = ("conv_forward", "depthwise_conv_forward", "conv_backward")
    assert fitted_kernels(calls, known).tolist() == ["depthwise_conv_forward", "conv_backward", "conv_forward", "fc_forward"]
