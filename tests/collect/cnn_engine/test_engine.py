"""The NumPy training step against independent networks: direct loops with central differences, and torch's autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mlperf.collect.cnn_engine.activation import FUNCTIONS
from mlperf.collect.cnn_engine.engine import TrainingStep, training_step
from mlperf.collect.cnn_engine.timers import ThreadTimer
from mlperf.specs import CnnSpec, Layer, kernel_calls

SPRINT_NETS = {
    958: CnnSpec.from_sprint("first", 14, (3, 4, 5, 6, 7), (2,), 3),
    812: CnnSpec.from_sprint("second", 16, (3, 4, 5, 6, 7, 8), (2, 3), 3),
    573: CnnSpec.from_sprint("third", 12, (3, 4, 5, 6), (1,), 3),
    859: CnnSpec.from_sprint("fourth", 26, (3, 4, 4, 5, 9), (1, 2), 4),
}
"""The four networks of the SPRINT form by their number of parameters, counted by hand with eq. 3."""

RESIDUAL = CnnSpec(
    "residual",
    4,
    (13, 11),
    (
        Layer("c1", "conv", n_maps=6, filter_size=3, stride=(2, 1), padding=(1, 2), bias=False),
        Layer("bn", "batch_norm"),
        Layer("r1", "activation"),
        Layer("c2", "conv", n_maps=6, filter_size=3, padding=2, dilation=2, groups=2),
        Layer("g", "activation", function="gelu"),
        Layer("sum", "add", inputs=("g", "r1")),
        Layer("c3", "conv", inputs=("sum",), n_maps=4, filter_size=1),
        Layer("mp", "pool", inputs=("sum",), filter_size=3, stride=1, padding=1),
        Layer("cat", "concat", inputs=("c3", "mp", "sum")),
        Layer("ap", "pool", filter_size=(3, 2), stride=2, padding=1, mode="average"),
        Layer("aa", "pool", output_size=(3, 2), mode="average"),
        Layer("am", "pool", output_size=(2, 2), mode="max"),
        Layer("flat", "flatten"),
        Layer("f1", "fc", n_maps=7),
        Layer("silu", "activation", function="silu"),
        Layer("f2", "fc", n_maps=5, bias=False),
        Layer("soft", "softmax"),
    ),
)
STRIDED = CnnSpec(
    "strided",
    3,
    (23, 21),
    (
        Layer("c1", "conv", n_maps=8, filter_size=(5, 3), stride=(3, 2), padding=(2, 0)),
        Layer("r1", "activation", function="leaky_relu"),
        Layer("mp", "pool", filter_size=3, stride=2),
        Layer("c2", "conv", n_maps=8, filter_size=3, padding=1, groups=8, bias=False),
        Layer("bn", "batch_norm", bias=False),
        Layer("h", "activation", function="hardswish"),
        Layer("gp", "pool", output_size=1, mode="average"),
        Layer("f", "fc", n_maps=4),
    ),
)
BRANCHED = [RESIDUAL, STRIDED]
ALL_NETS = [*SPRINT_NETS.values(), *BRANCHED]


def pick(nets: list[CnnSpec]) -> Any:
    return pytest.mark.parametrize("cnn", nets, ids=lambda cnn: cnn.name)


@pick(ALL_NETS)
@pytest.mark.parametrize("subbatch_size", [1, 3])
def test_runs_exactly_the_listed_kernel_calls(cnn: CnnSpec, subbatch_size: int) -> None:
    step, calls = training_step(cnn, subbatch_size), kernel_calls(cnn, subbatch_size)
    assert [(each.kernel, each.layer) for each in step.operations] == [(call.kernel, call.layer) for call in calls]


@pick(ALL_NETS)
@pytest.mark.parametrize("subbatch_size", [1, 3])
def test_products_have_the_sizes_of_table_2(cnn: CnnSpec, subbatch_size: int) -> None:
    step = training_step(cnn, subbatch_size)
    logged = [(each.kernel, each.layer, each.m, each.n, each.k, each.trans, each.groups) for each in step.gemms]
    listed = [
        (call.kernel, call.layer, call.m, call.n, call.k, call.trans, call.groups) for call in kernel_calls(cnn, subbatch_size)
    ]
    assert logged == [each for each in listed if each[2]]


@pytest.mark.parametrize("n_params", SPRINT_NETS)
def test_parameters_are_as_many_as_eq_3_counts(n_params: int) -> None:
    step = training_step(SPRINT_NETS[n_params], 1)
    assert sum(array.size for arrays in step.parameters.values() for array in arrays.values()) == n_params


def naive_loss(step: TrainingStep) -> float:
    """Mean cross-entropy of a SPRINT network by direct loops: no im2col, no matrix product, no shared code."""
    logits = [naive_forward(step, image) for image in step.values["input"]]
    losses = [
        np.log(np.exp(each - each.max()).sum()) + each.max() - each[label] for each, label in zip(logits, step.labels, strict=True)
    ]
    return float(np.mean(losses))


def naive_forward(step: TrainingStep, image: np.ndarray) -> np.ndarray:
    value = image
    for layer in step.cnn.layers:
        value = NAIVE[layer.kind](value, layer, step.parameters.get(layer.name, {}))
    return value.ravel()


def naive_convolution(image: np.ndarray, layer: Layer, parameters: dict[str, np.ndarray]) -> np.ndarray:
    size, maps_in = layer.filter_size[0], image.shape[2]
    weights = parameters["weights"].reshape(size, size, maps_in, layer.n_maps)
    out = np.zeros((image.shape[0] - size + 1, image.shape[1] - size + 1, layer.n_maps))
    for row, column in np.ndindex(out.shape[:2]):
        for target in range(layer.n_maps):
            out[row, column, target] = (image[row : row + size, column : column + size] * weights[..., target]).sum()
    return out + parameters["bias"]


def naive_pool(image: np.ndarray, *_: object) -> np.ndarray:
    out = np.zeros((image.shape[0] // 2, image.shape[1] // 2, image.shape[2]))
    for row, column in np.ndindex(out.shape[:2]):
        out[row, column] = image[2 * row : 2 * row + 2, 2 * column : 2 * column + 2].max(axis=(0, 1))
    return out


def naive_dense(value: np.ndarray, layer: Layer, parameters: dict[str, np.ndarray]) -> np.ndarray:
    flat = value.ravel()
    return np.array([(flat * parameters["weights"][0][:, target]).sum() for target in range(layer.n_maps)]) + parameters["bias"]


NAIVE: dict[str, Callable[..., np.ndarray]] = {
    "conv": naive_convolution,
    "pool": naive_pool,
    "fc": naive_dense,
    "activation": lambda value, *_: np.maximum(value, 0),
}


@pick(list(SPRINT_NETS.values()))
def test_loss_agrees_with_direct_loops(cnn: CnnSpec) -> None:
    step = training_step(cnn, 2, dtype=np.float64)
    step.run()
    assert step.loss[0] == pytest.approx(naive_loss(step), rel=1e-12)


@pick(list(SPRINT_NETS.values()))
def test_gradients_agree_with_central_differences_of_direct_loops(cnn: CnnSpec) -> None:
    """Step 1e-5 in double precision: truncation and rounding are both near 1e-10, away from kinks of ReLU and pooling."""
    step = training_step(cnn, 1, seed=1, dtype=np.float64)
    step.run()
    rng = np.random.default_rng(2)
    for name, parameters in step.parameters.items():
        for kind, values in parameters.items():
            place = np.unravel_index(rng.integers(values.size), values.shape)
            numeric = difference(lambda: naive_loss(step), values, place)
            assert step.gradients[name][kind][place] == pytest.approx(numeric, rel=1e-5, abs=1e-8), (name, kind)


def difference(loss: Callable[[], float], values: np.ndarray, place: tuple[Any, ...], width: float = 1e-5) -> float:
    middle = values[place]
    values[place] = middle + width
    above = loss()
    values[place] = middle - width
    below = loss()
    values[place] = middle
    return (above - below) / (2 * width)


@pick(BRANCHED)
def test_gradients_of_branched_networks_agree_with_their_own_differences(cnn: CnnSpec) -> None:
    step = training_step(cnn, 3, dtype=np.float64)
    step.run()
    found = {name: {kind: array.copy() for kind, array in arrays.items()} for name, arrays in step.gradients.items()}
    rng = np.random.default_rng(2)

    def loss() -> float:
        step.run()
        return float(step.loss[0])

    for name, parameters in step.parameters.items():
        for kind, values in parameters.items():
            for _ in range(3):
                place = np.unravel_index(rng.integers(values.size), values.shape)
                assert found[name][kind][place] == pytest.approx(difference(loss, values, place), rel=1e-5, abs=1e-7), (name, kind)


@pick(ALL_NETS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-5), (np.float64, 1e-12)])
def test_gradients_agree_with_autograd(cnn: CnnSpec, dtype: Any, tolerance: float) -> None:
    """Largest difference of each gradient relative to its largest element; 1e-5 is about 80 units of single precision."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    step = training_step(cnn, 4, seed=3, dtype=dtype)
    step.run()
    loss, gradients = autograd(torch, step)
    assert step.loss[0] == pytest.approx(loss, rel=tolerance)
    for name, arrays in step.gradients.items():
        for kind, array in arrays.items():
            expected = gradients[name][kind].numpy().reshape(array.shape)
            assert np.abs(array - expected).max() <= tolerance * np.abs(expected).max(), (name, kind)


def autograd(torch: Any, step: TrainingStep) -> tuple[float, Any]:
    """Loss and parameter gradients of the same network, written with torch's layers."""
    leaves = {
        name: {kind: torch.tensor(array, requires_grad=True) for kind, array in arrays.items()}
        for name, arrays in step.parameters.items()
    }
    values = {"input": torch.tensor(step.values["input"]).permute(0, 3, 1, 2)}
    for layer in step.cnn.layers:
        sources = [values[name] for name in step.cnn.sources[layer.name]]
        values[layer.name] = torch_layer(torch, layer, sources, leaves.get(layer.name, {}))
    logits = values[step.cnn.layers[-1].name].flatten(1)
    loss = torch.nn.functional.cross_entropy(logits, torch.tensor(step.labels))
    loss.backward()
    return float(loss.detach()), {name: {kind: leaf.grad for kind, leaf in each.items()} for name, each in leaves.items()}


def torch_layer(torch: Any, layer: Layer, sources: list[Any], leaves: dict[str, Any]) -> Any:
    nn = torch.nn.functional
    x = sources[0]
    if layer.kind == "conv":
        height, width = layer.filter_size
        per_group = leaves["weights"].shape[2]
        kernel = leaves["weights"].reshape(layer.groups, height, width, -1, per_group).permute(0, 4, 3, 1, 2)
        kernel = kernel.reshape(layer.n_maps, -1, height, width)
        return nn.conv2d(x, kernel, leaves.get("bias"), layer.stride, layer.padding, layer.dilation, layer.groups)
    if layer.kind == "fc":
        flat = x.permute(0, 2, 3, 1).flatten(1) if x.dim() == 4 else x
        return nn.linear(flat, leaves["weights"][0].T, leaves.get("bias"))[:, :, None, None]
    if layer.kind == "batch_norm":
        return nn.batch_norm(x, None, None, leaves.get("scale"), leaves.get("shift"), training=True, eps=1e-5)
    if layer.kind == "pool" and layer.is_adaptive:
        pool = nn.adaptive_max_pool2d if layer.mode == "max" else nn.adaptive_avg_pool2d
        return pool(x, layer.output_size)
    if layer.kind == "pool":
        pool = nn.max_pool2d if layer.mode == "max" else nn.avg_pool2d
        return pool(x, layer.filter_size, layer.stride, layer.padding)
    if layer.kind == "activation":
        return getattr(nn, layer.function)(x)
    if layer.kind == "add":
        return sum(sources[1:], sources[0])
    if layer.kind == "concat":
        return torch.cat(sources, dim=1)
    # Flatten reads maps last here and first in torch: the fully connected layer above permutes, so both leave maps as they are.
    return x


@pytest.mark.parametrize(
    "function",
    [*FUNCTIONS],
)
@pytest.mark.parametrize("with_bias", [True, False])
def test_every_activation_function_has_the_right_slope(function: str, with_bias: bool) -> None:
    layers = (
        Layer("c", "conv", n_maps=3, filter_size=3, bias=with_bias),
        Layer("f", "activation", function=function),
        Layer("o", "fc", n_maps=3),
    )
    step = training_step(CnnSpec("one", 2, 5, layers), 2, dtype=np.float64)
    step.run()
    found = step.gradients["c"]["weights"].copy()
    weights = step.parameters["c"]["weights"]

    def loss() -> float:
        step.run()
        return float(step.loss[0])

    for place in [(0, 0, 0), (0, 7, 2), (0, 17, 1)]:
        assert found[place] == pytest.approx(difference(loss, weights, place), rel=1e-6, abs=1e-9)


def test_dropout_runs_its_two_passes_and_scales_the_gradient() -> None:
    layers = (Layer("c", "conv", n_maps=4, filter_size=3), Layer("d", "dropout"), Layer("f", "fc", n_maps=3))
    step = training_step(CnnSpec("drop", 2, 6, layers), 2, dtype=np.float64)
    step.run()
    found, weights = step.gradients["c"]["weights"].copy(), step.parameters["c"]["weights"]

    def loss() -> float:
        step.run()
        return float(step.loss[0])

    assert found[0, 3, 1] == pytest.approx(difference(loss, weights, (0, 3, 1)), rel=1e-6, abs=1e-9)


def test_timers_see_every_call() -> None:
    step = training_step(SPRINT_NETS[958], 2)
    cpu_s, wall_s = ThreadTimer().time_each(step.operations)
    assert cpu_s.shape == wall_s.shape == (len(step.operations),)
    assert (cpu_s > 0).all()
    assert (wall_s > 0).all()
