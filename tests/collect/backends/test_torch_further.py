"""Modules of the further kinds against torch's own classes, with the same parameters."""

from __future__ import annotations

from typing import Any

import pytest

from mlperf.specs import CnnSpec, Layer
from mlperf.specs.network.shape import Shape

torch = pytest.importorskip("torch", reason="torch is not installed")

from mlperf.collect.backends.torch_further import further_module  # noqa: E402


def module_and_input(layer: Layer, maps: int, height: int, width: int) -> tuple[Any, Any]:
    """The module of a layer with random parameters, and two samples."""
    torch.manual_seed(0)
    module = further_module(torch, CnnSpec("one", maps, (height, width), (layer,)), layer)
    for values in module.parameters():
        torch.nn.init.normal_(values)
    return module, torch.randn(2, maps, height, width)


def test_attention_is_torchs() -> None:
    module, x = module_and_input(Layer("a", "attention", n_heads=3), 12, 7, 1)
    theirs = torch.nn.MultiheadAttention(12, 3, batch_first=True)
    names = {"in_weight": "in_proj_weight", "in_bias": "in_proj_bias", "out_weight": "out_proj.weight", "out_bias": "out_proj.bias"}
    theirs.load_state_dict({names[name]: values for name, values in module.state_dict().items()})
    tokens = x.squeeze(3).transpose(1, 2)
    expected, _ = theirs(tokens, tokens, tokens)
    torch.testing.assert_close(module(x).squeeze(3).transpose(1, 2), expected)


@pytest.mark.parametrize("cell", ["RNN", "GRU", "LSTM"])
def test_a_recurrence_is_torchs_and_has_its_parameters(cell: str) -> None:
    layer = Layer("r", "recurrent", n_maps=6, cell=cell.lower(), bidirectional=True)
    module, x = module_and_input(layer, 5, 7, 1)
    theirs = getattr(torch.nn, cell)(5, 6, bidirectional=True, batch_first=True)
    theirs.load_state_dict({name.removeprefix("cell."): values for name, values in module.state_dict().items()})
    expected, *_ = theirs(x.squeeze(3).transpose(1, 2))
    torch.testing.assert_close(module(x).squeeze(3).transpose(1, 2), expected)
    cnn = CnnSpec("one", 5, (7, 1), (layer,))
    assert cnn.n_params == sum(values.numel() for values in module.parameters())
    assert tuple(module(x).shape[1:]) == (12, 7, 1)


def test_layer_norm_is_over_maps() -> None:
    module, x = module_and_input(Layer("n", "layer_norm"), 6, 4, 5)
    theirs = torch.nn.LayerNorm(6)
    theirs.load_state_dict(module.state_dict())
    torch.testing.assert_close(module(x).permute(0, 2, 3, 1), theirs(x.permute(0, 2, 3, 1)))


def test_an_embedding_looks_rows_up() -> None:
    module, _ = module_and_input(Layer("e", "embedding", n_embeddings=9, n_maps=4), 1, 5, 1)
    indices = torch.randint(9, (2, 5))
    expected = torch.nn.functional.embedding(indices, module.weight)
    torch.testing.assert_close(module(indices.float().view(2, 1, 5, 1)).squeeze(3).transpose(1, 2), expected)


def test_attention_without_projections_is_torchs_in_every_window() -> None:
    """Keys and values of half as many heads, each for two of the queries'; learnt numbers in turn over heads, queries and keys."""
    layers = tuple(Layer(name, "conv", inputs=("input",), n_maps=n, filter_size=1) for name, n in (("q", 8), ("k", 4), ("v", 6)))
    layer = Layer("a", "attend", inputs=("q", "k", "v"), n_heads=4, groups=3, n_biases=5)
    cnn = CnnSpec("one", 3, (2, 6), (*layers, layer))
    module = further_module(torch, cnn, layer)
    torch.manual_seed(0)
    torch.nn.init.normal_(module.bias)
    read = [torch.randn(2, maps, 2, 6) for maps in (8, 4, 6)]
    found = module(*read).flatten(2).view(2, 4, 3, 3, 4)
    queries, keys, values = (x.flatten(2).view(2, n, -1, 3, 4) for x, n in zip(read, (4, 2, 2), strict=True))
    keys, values = (x[:, [0, 0, 1, 1]] for x in (keys, values))
    scores = torch.einsum("bhcwq,bhcwk->bwhqk", queries, keys) / 2**0.5
    scores = scores + module.bias[torch.arange(4 * 4 * 4) % 5].view(4, 4, 4)
    torch.testing.assert_close(found, torch.einsum("bwhqk,bhcwk->bhcwq", scores.softmax(4), values))
    assert cnn.shapes["a"] == Shape(12, 2, 6)


def test_windows_are_samples_to_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its fused attention takes four dimensions; heads that are nobody's but their own are not copied."""
    layers = tuple(Layer(name, "conv", inputs=("input",), n_maps=8, filter_size=1) for name in "qkv")
    layer = Layer("a", "attend", inputs=tuple("qkv"), n_heads=2, groups=3)
    module = further_module(torch, CnnSpec("one", 3, (2, 6), (*layers, layer)), layer)
    handed, real = [], torch.nn.functional.scaled_dot_product_attention

    def seen(*heads: Any, **options: Any) -> Any:
        handed.extend(tuple(each.shape) for each in heads)
        return real(*heads, **options)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", seen)
    assert module(*(torch.randn(2, 8, 2, 6) for _ in "qkv")).shape == (2, 8, 2, 6)
    assert handed == [(2 * 3, 2, 4, 4)] * 3


def test_the_class_token_comes_first_and_is_what_is_selected() -> None:
    module, x = module_and_input(Layer("c", "class_token"), 4, 5, 1)
    select, _ = module_and_input(Layer("s", "select_token"), 4, 6, 1)
    joined = module(x)
    assert joined.shape == (2, 4, 6, 1)
    torch.testing.assert_close(joined[:, :, 1:], x)
    torch.testing.assert_close(select(joined), module.token.expand(2, -1, -1, -1))


def test_multiply_and_scale_broadcast() -> None:
    scale, x = module_and_input(Layer("s", "layer_scale"), 3, 4, 4)
    torch.testing.assert_close(scale(x), x * scale.scale)
    layers = (Layer("p", "pool", mode="average", output_size=1), Layer("m", "multiply", inputs=("input", "p")))
    product = further_module(torch, CnnSpec("two", 3, 4, layers), layers[1])
    factors = torch.randn(2, 3, 1, 1)
    torch.testing.assert_close(product(x, factors), torch.einsum("bcyx,bc->bcyx", x, factors[:, :, 0, 0]))


def test_parts_and_shuffles_take_maps_in_their_order() -> None:
    part, x = module_and_input(Layer("p", "part", n_maps=2, first=3), 6, 2, 2)
    torch.testing.assert_close(part(x), x[:, 3:5])
    shuffle, _ = module_and_input(Layer("s", "shuffle", groups=2), 6, 2, 2)
    torch.testing.assert_close(shuffle(x), x[:, [0, 3, 1, 4, 2, 5]])
