"""Forward and backward of each kind of layer by torch's own kernels; autograd sees one layer at most.

A forward function takes the inputs and returns the output; a backward function takes the gradient by the output and returns the
gradients by the inputs. What the way back needs is kept in ``keep.saved`` under the layer's name, and dropped when it was used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mlperf.collect.backends.torch_further import FURTHER_KINDS
from mlperf.specs.network.cnn import Layer


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
    "mish": Function(lambda aten, x: aten.mish(x), lambda aten, g, x: aten.mish_backward(g, x)),
}


Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Pool:
    """One sort of pool.

    Attributes
    ----------
    apply : callable
        ``apply(aten, x, layer)`` returns the pooled maps and what the way back needs in addition to ``x``.
    pull_back : callable
        ``pull_back(aten, gradient, x, kept, layer)`` returns the gradient by ``x``.
    """

    apply: Callable[[Any, Any, Layer], tuple[Any, Any]]
    pull_back: Callable[[Any, Any, Any, Any, Layer], Any]


def sort_of(layer: Layer) -> tuple[str, str]:
    """Key of a pool layer in `POOLS`."""
    if layer.mode == "average" and layer.output_size == (1, 1):
        return "average", "global"
    return layer.mode, "adaptive" if layer.is_adaptive else "window"


def window(layer: Layer) -> tuple[Pair, Pair, Pair]:
    """Filter, stride and padding."""
    return layer.filter_size, layer.stride, layer.padding


def _max(aten: Any, x: Any, layer: Layer) -> tuple[Any, Any]:
    out, indices = aten.max_pool2d_with_indices(x, *window(layer), layer.dilation, layer.ceil_mode)
    return out, indices


def _max_back(aten: Any, gradient: Any, x: Any, indices: Any, layer: Layer) -> Any:
    return aten.max_pool2d_with_indices_backward(gradient, x, *window(layer), layer.dilation, layer.ceil_mode, indices)


def _average_back(aten: Any, gradient: Any, x: Any, _kept: Any, layer: Layer) -> Any:
    return aten.avg_pool2d_backward(gradient, x, *window(layer), layer.ceil_mode, True, None)


def _global_back(_aten: Any, gradient: Any, x: Any, _kept: Any, _layer: Layer) -> Any:
    return gradient.expand(x.shape) / (x.shape[2] * x.shape[3])


POOLS: Mapping[tuple[str, str], Pool] = {
    ("max", "window"): Pool(_max, _max_back),
    ("max", "adaptive"): Pool(
        lambda aten, x, layer: tuple(aten.adaptive_max_pool2d(x, layer.output_size)),
        lambda aten, gradient, x, indices, _: aten.adaptive_max_pool2d_backward(gradient, x, indices),
    ),
    ("average", "window"): Pool(
        lambda aten, x, layer: (aten.avg_pool2d(x, *window(layer), layer.ceil_mode, True, None), None), _average_back
    ),
    ("average", "adaptive"): Pool(
        lambda aten, x, layer: (aten._adaptive_avg_pool2d(x, layer.output_size), None),
        lambda aten, gradient, x, *_: aten._adaptive_avg_pool2d_backward(gradient, x),
    ),
    ("average", "global"): Pool(lambda _aten, x, _layer: (x.mean((2, 3), keepdim=True), None), _global_back),
}


EPSILON, MOMENTUM, DROPPED = 1e-5, 0.1, 0.5
"""Defaults of torch's batch norm and dropout."""


@dataclass(slots=True, eq=False)
class Keep:
    """What one step keeps between its calls.

    Attributes
    ----------
    torch : module
        torch itself.
    parameters : Mapping[str, Mapping[str, tensor]]
        Parameters and running moments by layer and torch's names, detached: they share the module's memory and build no graph.
    wanted : Mapping[str, bool]
        Whether the gradient by a layer's input is needed.
    modules : Mapping[str, torch.nn.Module]
        Modules by layer, for kinds whose way back is autograd's.
    learnt : Mapping[str, Mapping[str, tensor]]
        Their parameters as autograd knows them, looked up once: it is no work of a layer.
    saved : dict
        Tensors between a layer's forward and backward call, by layer.
    gradients : dict
        Gradients of the parameters after a run, by layer and name.
    """

    torch: Any
    parameters: Mapping[str, Mapping[str, Any]]
    wanted: Mapping[str, bool]
    modules: Mapping[str, Any] = field(default_factory=dict)
    learnt: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    saved: dict[str, Any] = field(default_factory=dict)
    gradients: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def aten(self) -> Any:
        """The kernels of torch."""
        return self.torch.ops.aten


Forward = Callable[[Keep, Layer, Sequence[Any]], Any]
Backward = Callable[[Keep, Layer, Any], Sequence[Any]]


def conv_forward(keep: Keep, layer: Layer, inputs: Sequence[Any]) -> Any:
    """Convolution with its bias."""
    x, own = inputs[0], keep.parameters[layer.name]
    keep.saved[layer.name] = x
    return keep.aten.convolution(
        x, own["weight"], own.get("bias"), layer.stride, layer.padding, layer.dilation, False, (0, 0), layer.groups
    )


def conv_backward(keep: Keep, layer: Layer, gradient: Any) -> Sequence[Any]:
    """Gradients of input, weights and bias in one call."""
    mask = [keep.wanted[layer.name], True, layer.bias]
    by_input, weight, bias = keep.aten.convolution_backward(
        gradient,
        keep.saved.pop(layer.name),
        keep.parameters[layer.name]["weight"],
        [layer.n_maps] if layer.bias else None,
        layer.stride,
        layer.padding,
        layer.dilation,
        False,
        (0, 0),
        layer.groups,
        mask,
    )
    keep.gradients[layer.name] = {"weight": weight, "bias": bias}
    return (by_input,)


def fc_forward(keep: Keep, layer: Layer, inputs: Sequence[Any]) -> Any:
    """Product with the weights, bias added."""
    own = keep.parameters[layer.name]
    keep.saved[layer.name] = inputs[0]
    return keep.torch.nn.functional.linear(inputs[0], own["weight"], own.get("bias"))


def fc_backward(keep: Keep, layer: Layer, gradient: Any) -> Sequence[Any]:
    """Two products and a sum over the samples."""
    x = keep.saved.pop(layer.name)
    weight, bias = gradient.t().mm(x), gradient.sum(0) if layer.bias else None
    keep.gradients[layer.name] = {"weight": weight, "bias": bias}
    return (gradient.mm(keep.parameters[layer.name]["weight"]) if keep.wanted[layer.name] else None,)


def batch_norm_forward(keep: Keep, layer: Layer, inputs: Sequence[Any]) -> Any:
    """Normalisation by the sub-batch's own moments; running moments are updated with it."""
    own = keep.parameters[layer.name]
    own["num_batches_tracked"].add_(1)
    moments = (own["running_mean"], own["running_var"])
    out, *rest = keep.aten._batch_norm_impl_index(
        inputs[0], own.get("weight"), own.get("bias"), *moments, True, MOMENTUM, EPSILON, keep.torch.backends.cudnn.enabled
    )
    keep.saved[layer.name] = (inputs[0], *rest)
    return out


def batch_norm_backward(keep: Keep, layer: Layer, gradient: Any) -> Sequence[Any]:
    """Gradients of input, scale and shift in one call."""
    own = keep.parameters[layer.name]
    x, mean, spread, reserve, which = keep.saved.pop(layer.name)
    moments = (own["running_mean"], own["running_var"])
    mask = [keep.wanted[layer.name], layer.bias, layer.bias]
    by_input, weight, bias = keep.aten._batch_norm_impl_index_backward(
        which, x, gradient.contiguous(), own.get("weight"), *moments, mean, spread, True, EPSILON, mask, reserve
    )
    if layer.bias:
        keep.gradients[layer.name] = {"weight": weight, "bias": bias}
    return (by_input,)


def activation_forward(keep: Keep, layer: Layer, inputs: Sequence[Any]) -> Any:
    """The function, element by element."""
    function = FUNCTIONS[layer.function]
    out = function.apply(keep.aten, inputs[0])
    keep.saved[layer.name] = inputs[0] if function.from_input else out
    return out


def activation_backward(keep: Keep, layer: Layer, gradient: Any) -> Sequence[Any]:
    """Multiply the gradient with the function's slope."""
    return (FUNCTIONS[layer.function].pull_back(keep.aten, gradient, keep.saved.pop(layer.name)),)


def dropout_forward(keep: Keep, layer: Layer, inputs: Sequence[Any]) -> Any:
    """A mask is drawn, stored and applied."""
    out, keep.saved[layer.name] = keep.aten.native_dropout(inputs[0], DROPPED, True)
    return out


def dropout_backward(keep: Keep, layer: Layer, gradient: Any) -> Sequence[Any]:
    """The same mask applied to the gradient."""
    return (keep.aten.native_dropout_backward(gradient, keep.saved.pop(layer.name), 1 / (1 - DROPPED)),)


def pool_forward(keep: Keep, layer: Layer, inputs: Sequence[Any]) -> Any:
    """The pool of the layer's sort."""
    out, kept = POOLS[sort_of(layer)].apply(keep.aten, inputs[0], layer)
    keep.saved[layer.name] = (inputs[0], kept)
    return out


def pool_backward(keep: Keep, layer: Layer, gradient: Any) -> Sequence[Any]:
    """The gradient sent back to where it came from."""
    x, kept = keep.saved.pop(layer.name)
    return (POOLS[sort_of(layer)].pull_back(keep.aten, gradient, x, kept, layer),)


def add_forward(keep: Keep, layer: Layer, inputs: Sequence[Any]) -> Any:
    """Sum of all inputs."""
    keep.saved[layer.name] = len(inputs)
    return total(inputs)


def total(values: Sequence[Any]) -> Any:
    """Sum of at least two tensors, one after the other as autograd adds them."""
    first, second, *others = values
    found = first + second
    for other in others:
        found = found + other
    return found


def add_backward(keep: Keep, layer: Layer, gradient: Any) -> Sequence[Any]:
    """Every input receives the gradient as it stands."""
    n_inputs: int = keep.saved.pop(layer.name)
    return (gradient,) * n_inputs


def concat_forward(keep: Keep, layer: Layer, inputs: Sequence[Any]) -> Any:
    """One after the other."""
    keep.saved[layer.name] = [x.shape[1] for x in inputs]
    return keep.torch.cat(list(inputs), 1)


def concat_backward(keep: Keep, layer: Layer, gradient: Any) -> Sequence[Any]:
    """Each input receives its part, as a view."""
    parts: Sequence[Any] = gradient.split(keep.saved.pop(layer.name), 1)
    return parts


def module_forward(keep: Keep, layer: Layer, inputs: Sequence[Any]) -> Any:
    """The layer's module, with a graph of this layer alone."""
    with keep.torch.enable_grad():
        read = [x.detach().requires_grad_(keep.wanted[layer.name]) for x in inputs]
        out = keep.modules[layer.name](*read)
    keep.saved[layer.name] = (read, out)
    return out.detach()


def module_backward(keep: Keep, layer: Layer, gradient: Any) -> Sequence[Any]:
    """Gradients of inputs and parameters by that graph."""
    read, out = keep.saved.pop(layer.name)
    own = keep.learnt[layer.name]
    reached = [x for x in read if x.requires_grad]
    found = keep.torch.autograd.grad(out, [*reached, *own.values()], gradient)
    if own:
        keep.gradients[layer.name] = dict(zip(own, found[len(reached) :], strict=True))
    return found[: len(reached)] or (None,) * len(read)


def view_forward(_keep: Keep, layer: Layer, inputs: Sequence[Any]) -> Any:
    """Hand on the input under another shape; nothing is computed."""
    if layer.kind == "unflatten":
        return inputs[0].reshape(len(inputs[0]), layer.n_maps, *layer.output_size)
    return inputs[0].flatten(2).unsqueeze(3) if layer.kind == "tokens" else inputs[0]


def view_backward(_keep: Keep, _layer: Layer, gradient: Any) -> Sequence[Any]:
    """Hand on the gradient under another shape; nothing is computed."""
    return (gradient,)


RESHAPED = (view_forward, view_backward)
PASSES: Mapping[str, tuple[Forward, Backward]] = {
    "conv": (conv_forward, conv_backward),
    "fc": (fc_forward, fc_backward),
    "pool": (pool_forward, pool_backward),
    "batch_norm": (batch_norm_forward, batch_norm_backward),
    "activation": (activation_forward, activation_backward),
    "dropout": (dropout_forward, dropout_backward),
    "add": (add_forward, add_backward),
    "concat": (concat_forward, concat_backward),
    "flatten": RESHAPED,
    "softmax": RESHAPED,
    **dict.fromkeys(FURTHER_KINDS, (module_forward, module_backward)),
}
"""Both ways through each kind of layer."""
