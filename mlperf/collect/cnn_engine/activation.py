"""Bias and activation function forward, its derivative backward; dropout as the element-wise pass it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from mlperf.collect.cnn_engine.builder import Array, Builder, Contribution
from mlperf.specs.network.cnn import Layer

LEAK = 0.01
SQRT_2 = 2.0**0.5
SQRT_2PI = (2.0 * np.pi) ** 0.5


@dataclass(frozen=True, slots=True)
class Function:
    """One activation function with its derivative.

    Attributes
    ----------
    apply : callable
        ``apply(x, out)`` writes f(x).
    slope : callable
        ``slope(kept, mask)`` returns f', as an array or as ``mask`` filled; ``kept`` is the output f(x), or x with `from_input`.
    from_input : bool
        Whether the derivative needs x, so that the output cannot overwrite it.
    """

    apply: Callable[[Array, Array], object]
    slope: Callable[[Array, Array], Array]
    from_input: bool = False


def _sigmoid(x: Array) -> Array:
    gate: Array = 1 / (1 + np.exp(-x))
    return gate


def _apply_sigmoid(x: Array, out: Array) -> None:
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, 1, out=out)
    np.reciprocal(out, out=out)


def _normal_cdf(x: Array) -> Array:
    from scipy.special import erf  # not above: it takes as long to import as numpy, and most networks have no GELU

    cdf: Array = (1 + erf(x / SQRT_2)) / 2
    return cdf


def _silu_slope(x: Array, _: Array) -> Array:
    gate = _sigmoid(x)
    slope: Array = gate * (1 + x * (1 - gate))
    return slope


def _gelu_slope(x: Array, _: Array) -> Array:
    density: Array = np.exp(-x * x / 2) / SQRT_2PI
    slope: Array = _normal_cdf(x) + x * density
    return slope


def _mish_slope(x: Array, _: Array) -> Array:
    bent = np.tanh(np.logaddexp(x, 0))
    slope: Array = bent + x * _sigmoid(x) * (1 - bent * bent)
    return slope


def _between(y: Array, low: float, high: float, mask: Array) -> Array:
    np.greater(y, low, out=mask)
    np.logical_and(mask, y < high, out=mask)
    return mask


def _hardswish_slope(x: Array, _: Array) -> Array:
    slope: Array = np.where(x <= -3, 0, np.where(x >= 3, 1, (2 * x + 3) / 6)).astype(x.dtype)
    return slope


FUNCTIONS: Mapping[str, Function] = {
    "identity": Function(lambda x, out: np.copyto(out, x), lambda y, _: np.ones_like(y)),
    "relu": Function(lambda x, out: np.maximum(x, 0, out=out), lambda y, mask: np.greater(y, 0, out=mask)),
    "relu6": Function(lambda x, out: np.clip(x, 0, 6, out=out), lambda y, mask: _between(y, 0, 6, mask)),
    "leaky_relu": Function(lambda x, out: np.maximum(x, x * LEAK, out=out), lambda y, _: np.where(y > 0, 1, LEAK).astype(y.dtype)),
    "elu": Function(
        lambda x, out: np.copyto(out, np.where(x > 0, x, np.expm1(np.minimum(x, 0)))), lambda y, _: np.minimum(y, 0) + 1
    ),
    "sigmoid": Function(_apply_sigmoid, lambda y, _: y * (1 - y)),
    "tanh": Function(lambda x, out: np.tanh(x, out=out), lambda y, _: 1 - y * y),
    "softplus": Function(lambda x, out: np.logaddexp(x, 0, out=out), lambda y, _: -np.expm1(-y)),
    "hardsigmoid": Function(
        lambda x, out: np.clip(x / 6 + 0.5, 0, 1, out=out), lambda y, mask: _between(y, 0, 1, mask) / y.dtype.type(6)
    ),
    "silu": Function(lambda x, out: np.multiply(x, _sigmoid(x), out=out), _silu_slope, from_input=True),
    "gelu": Function(lambda x, out: np.multiply(x, _normal_cdf(x), out=out), _gelu_slope, from_input=True),
    "mish": Function(lambda x, out: np.multiply(x, np.tanh(np.logaddexp(x, 0)), out=out), _mish_slope, from_input=True),
    "hardswish": Function(lambda x, out: np.multiply(x, np.clip(x / 6 + 0.5, 0, 1), out=out), _hardswish_slope, from_input=True),
}


KEPT = 0.5


def forward_bias(build: Builder, layer: Layer) -> None:
    """Lay out bias + f behind the product of ``layer``: in place, unless the derivative needs what it would overwrite."""
    name = build.fused.function_of[layer.name]
    function, before = FUNCTIONS[name], build.values[layer.name]
    bias = build.parameter(layer, "bias", (before.shape[-1],), 0.1)
    out = build.new_value(layer) if function.from_input else before
    build.save(layer, "kept", before if function.from_input else out)

    def add_bias() -> None:
        np.add(before, bias, out=before)

    def run() -> None:
        np.add(before, bias, out=before)
        function.apply(before, out)

    build.emit("activation", layer.name, add_bias if name == "identity" else run)


def forward_activation(build: Builder, layer: Layer) -> None:
    """Lay out an activation that no bias precedes."""
    function, source = FUNCTIONS[layer.function], build.source(layer)
    out = build.new_value(layer)
    build.save(layer, "kept", source if function.from_input else out)
    build.emit("activation", layer.name, lambda: function.apply(source, out))


def backward_bias(build: Builder, layer: Layer, received: Contribution) -> Array:
    """Lay out the derivative of the function behind a bias; returns the gradient before bias and function."""
    name = build.fused.function_of.get(layer.name, "identity")
    if name == "identity":
        return received.array
    out = received.array if received.exclusive else np.empty_like(received.array)
    pull_back(build, layer, name, received.array, out)
    return out


def backward_activation(build: Builder, layer: Layer, received: Contribution) -> None:
    """Lay out the derivative of a standalone activation."""
    source = build.cnn.sources[layer.name][0]
    if layer.function == "identity":
        build.send(source, received.array, exclusive=received.exclusive)
        return
    pull_back(build, layer, layer.function, received.array, build.new_gradient(source))


def pull_back(build: Builder, layer: Layer, function_name: str, gradient: Array, out: Array) -> None:
    """Lay out ``out = gradient * f'``."""
    slope, kept = FUNCTIONS[function_name].slope, build.saved[layer.name]["kept"]
    mask = np.empty(gradient.shape, dtype=np.bool_)

    def run() -> None:
        np.multiply(gradient, slope(kept, mask), out=out)

    build.emit("activation_gradient", layer.name, run)


def forward_dropout(build: Builder, layer: Layer) -> None:
    """Lay out a product with a mask drawn once: the pass over memory is timed, the random draws are not."""
    source, out = build.source(layer), build.new_value(layer)
    mask = build.save(layer, "mask", (build.rng.random(out.shape) < KEPT).astype(build.dtype) / build.dtype.type(KEPT))
    build.emit("activation", layer.name, lambda: np.multiply(source, mask, out=out))


def backward_dropout(build: Builder, layer: Layer, received: Contribution) -> None:
    """Lay out the same product backward."""
    mask, gradient = build.saved[layer.name]["mask"], received.array
    out = build.new_gradient(build.cnn.sources[layer.name][0])
    build.emit("activation_gradient", layer.name, lambda: np.multiply(gradient, mask, out=out))
