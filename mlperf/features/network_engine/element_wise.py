"""Passes of activation functions and of their slopes, as the engine runs them."""

from __future__ import annotations

from collections.abc import Mapping

from mlperf.features.network_engine.passes import Extents, Operand, Pass

# NumPy functions that apply f in turn, and those that make f' before the product with the gradient. Each further pass reads
# and writes a temporary.
APPLIED: Mapping[str, tuple[str, ...]] = {
    "identity": (),
    "relu": ("maximum",),
    "relu6": ("maximum", "maximum"),
    "leaky_relu": ("multiply", "maximum"),
    "elu": ("maximum", "exp", "greater", "copy"),
    "sigmoid": ("multiply", "exp", "add", "divide"),
    "tanh": ("tanh",),
    "softplus": ("exp", "exp"),
    "hardsigmoid": ("divide", "add", "maximum"),
    "silu": ("multiply", "exp", "add", "divide", "multiply"),
    "gelu": ("divide", "exp", "add", "divide", "multiply"),
    "hardswish": ("divide", "add", "maximum", "multiply"),
}
SLOPES: Mapping[str, tuple[str, ...]] = {
    "identity": ("copy",),
    "relu": ("greater",),
    "relu6": ("greater", "greater", "multiply_small"),
    "leaky_relu": ("greater", "copy", "copy"),
    "elu": ("maximum", "add"),
    "sigmoid": ("add", "multiply"),
    "tanh": ("multiply", "add"),
    "softplus": ("multiply", "exp", "multiply"),
    "hardsigmoid": ("greater", "greater", "multiply_small", "divide"),
    "silu": ("multiply", "exp", "add", "divide", "add", "multiply", "add", "multiply"),
    "gelu": ("multiply", "multiply", "exp", "divide", "divide", "exp", "add", "multiply", "add"),
    "hardswish": ("greater", "greater", "multiply", "add", "divide", "copy", "copy"),
}
# A mask holds a byte an element.
MASKS = frozenset({"greater", "multiply_small"})


def apply_passes(function: str, extents: Extents, source: Operand, target: Operand) -> tuple[Pass, ...]:
    """Passes of f: the first reads the input, the last writes the output, those between work on a temporary."""
    names = APPLIED[function]
    scratch = Operand("temporary", "update", source.strides)
    found = []
    for number, name in enumerate(names):
        first = source if number == 0 else scratch
        last = target if number == len(names) - 1 else scratch
        found.append(Pass(name, extents, (first, last)))
    return tuple(found)


def slope_passes(function: str, extents: Extents, kept: Operand, gradient: Operand, target: Operand) -> tuple[Pass, ...]:
    """Passes of f' and its product with the gradient."""
    names = SLOPES[function]
    found = []
    scratch = kept
    for name in names:
        size = 1 if name in MASKS else 4
        following = Operand(f"temporary of {size}", "update", kept.strides, size)
        found.append(Pass(name, extents, (scratch, following)))
        scratch = following
    found.append(Pass("multiply", extents, (gradient, scratch, target)))
    return tuple(found)
