"""The chain of torch's kernels against torch's autograd, and against the NumPy engine's networks."""

from __future__ import annotations

from typing import Any

import pytest

from mlperf.collect.backends.backends import plain_single_precision, torch_backend
from mlperf.specs import CnnSpec, Layer, library_calls, load_cnn
from mlperf.specs.network.layer import FUNCTIONS

torch = pytest.importorskip("torch", reason="torch is not installed")

from mlperf.collect.backends.torch_module import torch_module  # noqa: E402
from mlperf.collect.backends.torch_step import LibraryStep, library_step  # noqa: E402

SPRINT = CnnSpec.from_sprint("sprint", 16, (3, 4, 5, 6, 7, 8), (2, 3), 3)
BRANCHED = CnnSpec(
    "branched",
    4,
    (13, 11),
    (
        Layer("c1", "conv", n_maps=6, filter_size=3, stride=(2, 1), padding=(1, 2), bias=False),
        Layer("bn", "batch_norm"),
        Layer("r1", "activation"),
        Layer("c2", "conv", n_maps=6, filter_size=3, padding=2, dilation=2, groups=2),
        Layer("g", "activation", function="gelu"),
        Layer("sum", "add", inputs=("g", "r1", "r1")),
        Layer("c3", "conv", inputs=("sum",), n_maps=4, filter_size=1),
        Layer("mp", "pool", inputs=("sum",), filter_size=3, stride=1, padding=1),
        Layer("cat", "concat", inputs=("c3", "mp", "sum")),
        Layer("none", "batch_norm", bias=False),
        Layer("ap", "pool", filter_size=(3, 2), stride=2, padding=1, mode="average", ceil_mode=True),
        Layer("aa", "pool", output_size=(3, 2), mode="average"),
        Layer("am", "pool", output_size=(2, 2), mode="max"),
        Layer("same", "activation", function="identity"),
        Layer("flat", "flatten"),
        Layer("f1", "fc", n_maps=7),
        Layer("bf", "batch_norm"),
        Layer("drop", "dropout"),
        Layer("f2", "fc", inputs=("drop",), n_maps=7, bias=False),
        Layer("both", "concat", inputs=("f1", "f2")),
        Layer("back", "conv", n_maps=5, filter_size=1),
        Layer("soft", "softmax"),
    ),
)
POOLED = CnnSpec(
    "pooled",
    3,
    (23, 21),
    (
        Layer("first", "pool", filter_size=2),
        Layer("c1", "conv", n_maps=8, filter_size=(5, 3), stride=(3, 2), padding=(2, 0)),
        Layer("leak", "activation", function="leaky_relu"),
        Layer("mp", "pool", filter_size=2, stride=1, dilation=2, ceil_mode=True),
        Layer("gp", "pool", output_size=1, mode="average"),
        Layer("f", "fc", n_maps=4),
    ),
)
GATED = CnnSpec(
    "gated",
    3,
    (12, 10),
    (
        Layer("c", "conv", n_maps=8, filter_size=3, padding=1),
        Layer("gn", "group_norm", groups=4),
        Layer("plain", "group_norm", groups=2, bias=False),
        Layer("mean", "pool", inputs=("gn",), mode="average", output_size=1),
        Layer("squeeze", "conv", n_maps=8, filter_size=1),
        Layer("gate", "activation", function="hardsigmoid"),
        Layer("times", "multiply", inputs=("plain", "gate")),
        Layer("ln", "layer_norm"),
        Layer("scale", "layer_scale"),
        Layer("sum", "add", inputs=("scale", "gn")),
        Layer("up", "transposed_conv", n_maps=6, filter_size=(3, 2), stride=2, padding=(1, 0), output_padding=(1, 0), groups=2),
        Layer("swish", "activation", function="hardswish"),
        Layer("down", "resize", mode="bilinear", output_size=(5, 7)),
        Layer("twice", "resize", mode="nearest", scale=2),
        Layer("flat", "fc", n_maps=24),
        Layer("maps", "unflatten", n_maps=4, output_size=(3, 2)),
        Layer("own", "prelu", n_slopes=4),
        Layer("shift", "layer_shift"),
        Layer("slope", "prelu"),
        Layer("m", "activation", function="mish"),
        Layer("o", "fc", n_maps=4),
    ),
)
SEEN = CnnSpec(
    "seen",
    3,
    (8, 12),
    (
        Layer("patches", "conv", n_maps=8, filter_size=4, stride=4),
        Layer("tokens", "tokens"),
        Layer("class", "class_token"),
        Layer("place", "position_embedding"),
        Layer("n1", "layer_norm"),
        Layer("heads", "attention", n_heads=2),
        Layer("a1", "add", inputs=("heads", "place")),
        Layer("n2", "layer_norm", bias=False),
        Layer("bare", "attention", n_heads=4, bias=False),
        Layer("wide", "conv", n_maps=12, filter_size=1),
        Layer("gelu", "activation", function="gelu"),
        Layer("first", "select_token"),
        Layer("o", "fc", n_maps=5),
    ),
)
READ = CnnSpec(
    "read",
    1,
    (9, 1),
    (
        Layer("words", "embedding", n_embeddings=50, n_maps=8),
        Layer("place", "position_embedding"),
        Layer("heads", "attention", n_heads=2),
        Layer("o", "fc", n_maps=3),
    ),
)
WINDOWED = CnnSpec(
    "windowed",
    3,
    (8, 12),
    (
        Layer("patches", "conv", n_maps=8, filter_size=2, stride=2),
        Layer("queries", "conv", n_maps=8, filter_size=1),
        Layer("keys", "conv", inputs=("patches",), n_maps=4, filter_size=1),
        Layer("placed", "attend", inputs=("queries", "keys", "keys"), n_heads=2, groups=3, n_biases=7),
        Layer("all", "attend", inputs=("placed", "queries", "patches"), n_heads=4),
        Layer("sum", "add", inputs=("all", "patches")),
        Layer("o", "fc", n_maps=3),
    ),
)
NETS = [SPRINT, BRANCHED, POOLED, GATED, SEEN, READ, WINDOWED, load_cnn("resnet18"), load_cnn("alexnet")]


def pick(nets: list[CnnSpec]) -> Any:
    return pytest.mark.parametrize("cnn", nets, ids=lambda cnn: cnn.name)


def both_ways(step: LibraryStep) -> tuple[float, dict[tuple[str, str], Any], float, dict[tuple[str, str], Any]]:
    """Loss and gradients by (layer, parameter): by autograd, then by the chain, with the same dropout masks."""
    torch.manual_seed(0)
    loss, found = step.run()
    by_identity = {id(values): gradient for values, gradient in zip(step.module.parameters(), found, strict=True)}
    whole = {
        (name, kind): by_identity[id(values)] for name, part in step.layers.items() for kind, values in part.named_parameters()
    }
    torch.manual_seed(0)
    for operation in step.operations:
        operation.run()
    kept = step.chain.keep.gradients
    return float(loss.detach()), whole, float(step.chain.loss), {key: kept[key[0]][key[1]] for key in whole}


@pick(NETS)
def test_gradients_of_the_chain_equal_autograd(cnn: CnnSpec) -> None:
    """1e-5 of the largest element, as for the NumPy engine; the kernels are the same, so nearly all digits agree."""
    loss, whole, chain_loss, chain = both_ways(library_step(cnn, 3))
    assert chain_loss == pytest.approx(loss, rel=1e-6)
    assert len(whole) > 2
    for key, expected in whole.items():
        assert (chain[key] - expected).abs().max() <= 1e-5 * expected.abs().max(), key


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_activation_function_has_autograds_slope(function: str) -> None:
    layers = (Layer("c", "conv", n_maps=3, filter_size=3), Layer("f", "activation", function=function), Layer("o", "fc", n_maps=3))
    _, whole, _, chain = both_ways(library_step(CnnSpec("one", 2, 5, layers), 2))
    for key, expected in whole.items():
        torch.testing.assert_close(chain[key], expected, rtol=1e-5, atol=1e-7)


@pick(NETS)
@pytest.mark.parametrize("subbatch_size", [2, 5])
def test_the_chain_runs_exactly_the_listed_calls(cnn: CnnSpec, subbatch_size: int) -> None:
    step, calls = library_step(cnn, subbatch_size), library_calls(cnn, subbatch_size)
    assert [(each.kernel, each.layer) for each in step.operations if each.kernel] == [(call.kernel, call.layer) for call in calls]


@pick(NETS)
def test_the_chain_keeps_no_tensor_behind_but_gradients(cnn: CnnSpec) -> None:
    step = library_step(cnn, 2)
    for operation in step.operations:
        operation.run()
    assert not step.chain.values
    assert not step.chain.sent
    learns = cnn.needs_gradient
    assert {name for name in step.chain.keep.saved if learns[name]} == set()


@pick([*NETS, *(load_cnn(name) for name in ("resnet50", "vgg11", "mobilenet_v3_small", "efficientnet_b0", "convnext_tiny"))])
def test_the_module_has_the_parameters_of_the_specification(cnn: CnnSpec) -> None:
    module, _ = torch_module(cnn)
    assert sum(values.numel() for values in module.parameters()) == cnn.n_params


@pick(NETS)
def test_every_layer_writes_the_shape_of_the_specification(cnn: CnnSpec) -> None:
    step = library_step(cnn, 2)
    seen = {}
    for name, part in step.layers.items():
        part.register_forward_hook(lambda _part, _inputs, out, name=name: seen.update({name: tuple(out.shape)}))
    step.run()
    for name, shape in seen.items():
        expected = cnn.shapes[name]
        assert shape in {(2, expected.n_maps, expected.height, expected.width), (2, expected.size)}, name


def test_same_seed_same_step_another_seed_another() -> None:
    losses = [float(library_step(SPRINT, 2, seed=seed).run()[0].detach()) for seed in (0, 0, 1)]
    assert losses[0] == losses[1] != losses[2]


def test_torch_runs_on_one_thread_and_gets_its_threads_back() -> None:
    before = torch.get_num_threads()
    with torch_backend() as backend:
        assert torch.get_num_threads() == 1
        assert backend.name == "torch"
    assert torch.get_num_threads() == before


def test_settings_of_single_precision_come_back() -> None:
    def settings() -> tuple[bool, ...]:
        return torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32, torch.backends.cudnn.benchmark

    before = settings()
    with plain_single_precision(torch):
        assert settings() == (False, False, False)
    assert settings() == before


@pytest.mark.parametrize(
    ("layer", "subbatch_size", "reason"),
    [
        (Layer("p", "pool", filter_size=2, dilation=2, mode="average"), 2, "no average pooling with dilation (layer p)"),
        (Layer("b", "batch_norm", inputs=("flat",)), 1, "no batch of one value a map (layer b)"),
    ],
)
def test_what_torch_cannot_run_is_refused_with_the_layer(layer: Layer, subbatch_size: int, reason: str) -> None:
    first = (Layer("c", "conv", n_maps=3, filter_size=3), *([Layer("flat", "flatten")] if layer.inputs else []))
    with torch_backend() as backend:
        assert reason in backend.refusal(CnnSpec("odd", 2, 9, (*first, layer)), subbatch_size)
        assert not backend.refusal(SPRINT, 1)
        assert "learns nothing" in backend.refusal(CnnSpec("pools", 2, 9, (Layer("p", "pool", filter_size=2),)), 2)
