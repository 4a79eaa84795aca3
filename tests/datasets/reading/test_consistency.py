"""Tables and specifications that contradict one another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.datasets import read_campaign

Edit = Callable[..., Path]


@pytest.mark.parametrize("table", ["kernels", "steps", "components", "runs"])
def test_network_without_specification(table: str, edited: Edit) -> None:
    folder = edited(table, 3, "cnn", "tinny")
    with pytest.raises(DataError) as caught:
        read_campaign(folder)
    assert caught.value.place == f"{folder / table}.csv, line 3, column cnn"
    assert "got 'tinny'" in caught.value.message
    assert "tinny.toml" in str(caught.value.hint)
    assert "'tiny'" in str(caught.value.hint)


def test_without_any_specification(campaign: Path) -> None:
    (campaign / "cnns" / "tiny.toml").unlink()
    with pytest.raises(DataError, match=r"kernels.csv, line 2, column cnn: got 'tiny'") as caught:
        read_campaign(campaign)
    assert str(caught.value.hint).endswith("tiny.toml.")


def test_layer_that_the_network_does_not_have(edited: Edit) -> None:
    with pytest.raises(DataError, match=r"line 2, column layer: got 'conv7', expected a layer of tiny"):
        read_campaign(edited("kernels", 2, "layer", "conv7"))


def test_kernel_that_the_layer_does_not_run(edited: Edit) -> None:
    with pytest.raises(DataError, match=r"line 2, column kernel: got 'im2col', expected a kernel that tiny runs on layer fc3"):
        read_campaign(edited("kernels", 2, "layer", "fc3"))


@pytest.mark.parametrize(
    ("line", "column", "text", "wanted"),
    [
        # conv1 of a 12 x 12 x 3 input, 3 x 3 filters, 4 maps, one sample: x' = 10, im2col writes 10^2 3^2 3 floats of 4 bytes.
        (2, "access_bytes", "10804", "10800"),
        (3, "m", "101", "100"),
        (3, "n", "5", "4"),
        (3, "k", "28", "27"),
        (3, "trans", "TN", "NN"),
    ],
)
def test_sizes_follow_from_the_specification(line: int, column: str, text: str, wanted: str, edited: Edit) -> None:
    with pytest.raises(DataError, match=f"line {line}, column {column}: got '{text}', expected {wanted} ") as caught:
        read_campaign(edited("kernels", line, column, text))
    assert "disagree" in str(caught.value.hint)


def test_subbatch_size_is_part_of_the_sizes(edited: Edit) -> None:
    with pytest.raises(DataError, match=r"column access_bytes: got '10800', expected 21600"):
        read_campaign(edited("kernels", 2, "subbatch_size", "2"))


def test_library_layers_only_need_their_layer(campaign: Path) -> None:
    path = campaign / "kernels.csv"
    row = "torch,tiny,4,conv_forward,{layer},400,4,27,NN,,0.001,0.001,1,999,0.4,0.0021\n"
    text = path.read_text(encoding="utf-8")
    path.write_text(text + row.format(layer="conv1"), encoding="utf-8")
    assert read_campaign(campaign).table("kernels")["kernel"].iloc[-1] == "conv_forward"
    path.write_text(text + row.format(layer="conv8"), encoding="utf-8")
    with pytest.raises(DataError, match="column layer: got 'conv8'"):
        read_campaign(campaign)


def test_kernels_that_both_forms_have_are_held_to_the_form_of_their_backend(campaign: Path) -> None:
    """Softmax of a library has the sizes of that form; ``add_gradient`` where nothing branches is nobody's."""
    path = campaign / "kernels.csv"
    text = path.read_text(encoding="utf-8")
    row = "torch,tiny,4,{kernel},{layer},{sizes},0.001,0.001,1,999,0.4,0.0021\n"
    whole = row.format(kernel="conv_forward", layer="conv1", sizes="400,4,27,NN,")
    for kernel, column in (("softmax", "access_bytes"), ("add_gradient", "kernel")):
        path.write_text(text + whole + row.format(kernel=kernel, layer="fc3", sizes="0,0,0,,17"), encoding="utf-8")
        with pytest.raises(DataError, match=f"column {column}: got '"):
            read_campaign(campaign)
