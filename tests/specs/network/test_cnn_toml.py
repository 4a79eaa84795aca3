"""Networks in TOML files: nothing is lost, nothing unknown is accepted."""

from __future__ import annotations

import pytest

from mlperf.core.errors import DataError
from mlperf.specs.network.cnn import CnnSpec, Layer
from mlperf.specs.network.cnn_toml import cnn_from_dict, cnn_text, cnn_to_dict, read_cnn, write_cnn
from mlperf.specs.zoo.generator import make_cnns
from mlperf.specs.zoo.zoo import load_cnn, zoo_names

ODD = CnnSpec(
    "odd",
    4,
    (20, 31),
    (
        Layer("a", "conv", n_maps=8, filter_size=(3, 5), stride=(1, 2), padding=(1, 0), dilation=(2, 1), groups=4, bias=False),
        Layer("p", "pool", filter_size=(3, 3), stride=(2, 1), mode="average", ceil_mode=True),
        Layer("n", "batch_norm", bias=False),
        Layer("l", "conv", inputs=("n",), n_maps=8, filter_size=1),
        Layer("t", "activation", function="tanh"),
        Layer("s", "add", inputs=("t", "n")),
        Layer("c", "concat", inputs=("s", "t")),
        Layer("d", "dropout"),
        Layer("g", "pool", mode="average", output_size=(2, 3)),
        Layer("f", "flatten"),
        Layer("fc", "fc", n_maps=10, bias=False),
        Layer("soft", "softmax"),
    ),
)


@pytest.mark.parametrize("cnn", [ODD, *(load_cnn(name) for name in zoo_names()), make_cnns(1)[0]], ids=lambda cnn: cnn.name)
def test_reading_gives_back_what_was_written(cnn, tmp_path):
    write_cnn(cnn, tmp_path / "net.toml")
    assert read_cnn(tmp_path / "net.toml") == cnn
    assert cnn_from_dict(cnn_to_dict(cnn)) == cnn


def test_a_layer_is_one_line_without_defaults():
    lines = cnn_text(load_cnn("resnet18")).splitlines()
    assert '    { name = "stem", kind = "conv", n_maps = 64, filter_size = 7, stride = 2, padding = 3, bias = false },' in lines
    assert '    { name = "stage1_block1_add", kind = "add", inputs = ["stage1_block1_conv2_norm", "stem_pool"] },' in lines
    assert len(lines) == len(load_cnn("resnet18").layers) + 5


def test_the_short_form_of_table_1(tmp_path):
    path = tmp_path / "short.toml"
    path.write_text('name = "net2"\n[sprint]\ninput_size = 16\nn_maps = [3, 4, 5, 6, 7, 8]\npools_after = [2, 3]\nn_conv = 3\n')
    assert read_cnn(path) == CnnSpec.from_sprint("net2", 16, (3, 4, 5, 6, 7, 8), (2, 3), 3)


HEAD = 'name = "net"\ninput_maps = 3\ninput_size = 8\n'


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        ("input_maps = 3\ninput_size = 8\nlayers = []", "network", "got no key 'name'", "name = ..."),
        (HEAD + "layer = []", "network", "got key 'layer'", "Did you mean 'layers'?"),
        (HEAD + "layers = []", "cnn 'net'", "got no layers", ""),
        (HEAD + "layers = 3", "layers", "expected a list of tables", ""),
        (HEAD + 'layers = [{ name = "a", kind = "fc", n_map = 3 }]', "layer 'a'", "got key 'n_map'", "Did you mean 'n_maps'?"),
        (HEAD + 'layers = [{ name = "a" }]', "layer 'a'", "got no key 'kind'", ""),
        (HEAD + 'layers = [{ kind = "fc" }]', "layer 1", "got no key 'name'", ""),
        (HEAD + 'layers = [{ name = "a", kind = "fc", n_maps = "3" }]', "layer 'a', n_maps", "got '3', expected an integer", ""),
        (
            HEAD + 'layers = [{ name = "a", kind = "conv", n_maps = 3, filter_size = 9 }]',
            "cnn 'net', layer 'a', input shape",
            "9 x 9",
            "",
        ),
        ('name = "x"\n[sprint]\ninput_size = 8\nmaps = [3, 4]', "[sprint]", "got key 'maps'", "Did you mean 'n_maps'?"),
        ('name = "x"\n[sprint]\ninput_size = 8\nn_maps = 3', "SPRINT form, n_maps", "expected a list", ""),
        ('name = 3\ninput_maps = 3\ninput_size = 8\nlayers = [{ name = "a", kind = "fc", n_maps = 3 }]', "cnn, name", "got 3", ""),
    ],
)
def test_mistakes_name_file_and_layer(text, place, message, hint, tmp_path):
    path = tmp_path / "net.toml"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_cnn(path)
    assert caught.value.place == f"{path}, {place}"
    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize("stride", [0, [0, 0]])
def test_a_stride_of_nothing_is_refused_where_a_file_says_it(stride: object) -> None:
    row = {"name": "c", "kind": "conv", "n_maps": 2, "filter_size": 3, "stride": stride}
    with pytest.raises(DataError, match="expected an integer or") as caught:
        cnn_from_dict({"name": "n", "input_maps": 1, "input_size": 8, "layers": [row]})
    assert caught.value.place == "layer 'c', stride"
