"""Activation functions and their derivatives by torch's own kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Function:
    """One activation function with its derivative.

    Attributes
    ----------
    apply : callable
        ``apply(aten, x)`` returns f(x).
    pull_back : callable
        ``pull_back(aten, gradient, kept)`` returns gradient times slope; ``kept`` is the output f(x), or x with `from_input`.
    from_input : bool
        Which of the two the slope needs.
    """

    apply: Callable[[Any, Any], Any]
    pull_back: Callable[[Any, Any, Any], Any]
    from_input: bool = True


FUNCTIONS: Mapping[str, Function] = {
    "relu": Function(lambda aten, x: aten.relu(x), lambda aten, g, y: aten.threshold_backward(g, y, 0), from_input=False),
    "relu6": Function(lambda aten, x: aten.hardtanh(x, 0, 6), lambda aten, g, x: aten.hardtanh_backward(g, x, 0, 6)),
    "leaky_relu": Function(
        lambda aten, x: aten.leaky_relu(x, 0.01), lambda aten, g, x: aten.leaky_relu_backward(g, x, 0.01, False)
    ),
    "elu": Function(lambda aten, x: aten.elu(x), lambda aten, g, x: aten.elu_backward(g, 1, 1, 1, False, x)),
    "gelu": Function(lambda aten, x: aten.gelu(x), lambda aten, g, x: aten.gelu_backward(g, x)),
    "silu": Function(lambda aten, x: aten.silu(x), lambda aten, g, x: aten.silu_backward(g, x)),
    "hardswish": Function(lambda aten, x: aten.hardswish(x), lambda aten, g, x: aten.hardswish_backward(g, x)),
    "hardsigmoid": Function(lambda aten, x: aten.hardsigmoid(x), lambda aten, g, x: aten.hardsigmoid_backward(g, x)),
    "sigmoid": Function(lambda aten, x: aten.sigmoid(x), lambda aten, g, y: aten.sigmoid_backward(g, y), from_input=False),
    "tanh": Function(lambda aten, x: aten.tanh(x), lambda aten, g, y: aten.tanh_backward(g, y), from_input=False),
    "softplus": Function(lambda aten, x: aten.softplus(x), lambda aten, g, x: aten.softplus_backward(g, x, 1, 20)),
}
