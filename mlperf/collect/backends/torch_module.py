"""A torch module from a layer table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlperf.collect.backends.torch_further import FURTHER_KINDS, further_module
from mlperf.core.extras import require
from mlperf.specs.importers.torch.modules import ACTIVATIONS
from mlperf.specs.network.cnn import CnnSpec, Layer
from mlperf.specs.network.layer import NETWORK_INPUT

MAPS, FLAT = 4, 2
"""Dimensions of a value: (subbatch_size, n_maps, height, width), or (subbatch_size, n_maps)."""

RANK_READ: Mapping[str, int] = {"conv": MAPS, "pool": MAPS, "fc": FLAT, "flatten": FLAT, **dict.fromkeys(FURTHER_KINDS, MAPS)}
"""What a kind reads; the others read what they write."""

RANDOM_BLOCK = 2**16 + 1


def ranks(cnn: CnnSpec) -> dict[str, int]:
    """Dimensions of each layer's output by name, and of ``"input"``."""
    found = {NETWORK_INPUT: MAPS}
    for layer in cnn.layers:
        found[layer.name] = RANK_READ.get(layer.kind, max(found[source] for source in cnn.sources[layer.name]))
    return found


def rank_read(layer: Layer, rank: Mapping[str, int]) -> int:
    """Dimensions in which ``layer`` wants its inputs."""
    return RANK_READ.get(layer.kind, rank[layer.name])


def value_shape(cnn: CnnSpec, rank: Mapping[str, int], name: str, subbatch_size: int) -> tuple[int, ...]:
    """Shape of the value that layer ``name`` writes."""
    shape = cnn.shapes[name]
    return (subbatch_size, shape.size) if rank[name] == FLAT else (subbatch_size, shape.n_maps, shape.height, shape.width)


def torch_module(cnn: CnnSpec, device: str = "cpu", seed: int = 0) -> tuple[Any, Mapping[str, Any]]:
    """Build the network as torch runs it, in training mode.

    Parameters
    ----------
    cnn : CnnSpec
        The network.
    device : str
        Where its parameters live.
    seed : int
        Of the parameters.

    Returns
    -------
    module : torch.fx.GraphModule
        Maps images (subbatch_size, n_maps, height, width) to the logits (subbatch_size, n_classes).
    layers : Mapping[str, torch.nn.Module]
        The modules of `module` by the layers' names; sums, concatenations and reshapes have none.

    Raises
    ------
    MissingExtraError
        torch is not installed.
    """
    torch, fx = require("torch", "torch"), require("torch.fx", "torch")
    rank = ranks(cnn)
    graph = fx.Graph()
    nodes = {NETWORK_INPUT: graph.placeholder("images")}
    layers: dict[str, Any] = {}
    targets: dict[str, Any] = {}
    with torch.device("meta"):
        for number, layer in enumerate(cnn.layers):
            sources = [_as_rank(torch, graph, nodes[name], rank[name], rank_read(layer, rank)) for name in cnn.sources[layer.name]]
            if layer.kind not in _JOINS:
                target = f"layer{number}"
                layers[layer.name] = targets[target] = _module(torch, cnn, layer, rank)
                nodes[layer.name] = graph.call_module(target, tuple(sources))
            else:
                nodes[layer.name] = _JOINS[layer.kind](torch, graph, sources)
        last = cnn.layers[-1].name
        graph.output(_as_rank(torch, graph, nodes[last], rank[last], FLAT))
        module = fx.GraphModule(targets, graph)
    module.to_empty(device=device)
    _fill(torch, module, seed)
    return module.train(), layers


def _module(torch: Any, cnn: CnnSpec, layer: Layer, rank: Mapping[str, int]) -> Any:
    if layer.kind in _MODULES:
        return _MODULES[layer.kind](torch.nn, cnn, layer, rank)
    return further_module(torch, cnn, layer)


def _as_rank(torch: Any, graph: Any, node: Any, rank: int, wanted: int) -> Any:
    if rank == wanted:
        return node
    if wanted == FLAT:
        return graph.call_function(torch.flatten, (node, 1))
    return graph.call_method("unflatten", (node, 1, (-1, 1, 1)))


def _fill(torch: Any, module: Any, seed: int) -> None:
    """Random weights of ordinary size; one block of draws is repeated, as drawing 138 million would outlast the measurement."""
    generator = torch.Generator().manual_seed(seed)
    block = torch.randn(RANDOM_BLOCK, generator=generator)
    with torch.no_grad():
        for part in module.modules():
            if hasattr(part, "reset_running_stats"):
                part.reset_running_stats()
        for values in module.parameters():
            scale = (2 / values[0].numel()) ** 0.5 if values.dim() > 1 else 0.1
            repeats = -(-values.numel() // RANDOM_BLOCK)
            values.copy_((block.repeat(repeats)[: values.numel()] * scale).view(values.shape))


def _conv(nn: Any, cnn: CnnSpec, layer: Layer, _rank: Mapping[str, int]) -> Any:
    return nn.Conv2d(
        cnn.input_shapes(layer.name)[0].n_maps,
        layer.n_maps,
        layer.filter_size,
        stride=layer.stride,
        padding=layer.padding,
        dilation=layer.dilation,
        groups=layer.groups,
        bias=layer.bias,
    )


def _fc(nn: Any, cnn: CnnSpec, layer: Layer, _rank: Mapping[str, int]) -> Any:
    return nn.Linear(cnn.input_shapes(layer.name)[0].size, layer.n_maps, bias=layer.bias)


def _pool(nn: Any, _cnn: CnnSpec, layer: Layer, _rank: Mapping[str, int]) -> Any:
    if layer.is_adaptive:
        return (nn.AdaptiveMaxPool2d if layer.mode == "max" else nn.AdaptiveAvgPool2d)(layer.output_size)
    if layer.mode == "max":
        return nn.MaxPool2d(layer.filter_size, layer.stride, layer.padding, layer.dilation, ceil_mode=layer.ceil_mode)
    return nn.AvgPool2d(layer.filter_size, layer.stride, layer.padding, ceil_mode=layer.ceil_mode)


def _batch_norm(nn: Any, cnn: CnnSpec, layer: Layer, rank: Mapping[str, int]) -> Any:
    kind = nn.BatchNorm2d if rank[layer.name] == MAPS else nn.BatchNorm1d
    return kind(cnn.shapes[layer.name].n_maps, affine=layer.bias)


_ACTIVATION_CLASSES = {function: name for name, function in reversed(tuple(ACTIVATIONS.items()))} | {"identity": "Identity"}

_MODULES: Mapping[str, Callable[[Any, CnnSpec, Layer, Mapping[str, int]], Any]] = {
    "conv": _conv,
    "fc": _fc,
    "pool": _pool,
    "batch_norm": _batch_norm,
    "activation": lambda nn, _cnn, layer, _rank: getattr(nn, _ACTIVATION_CLASSES[layer.function])(),
    "dropout": lambda nn, _cnn, _layer, _rank: nn.Dropout(),
}


def _add(torch: Any, graph: Any, sources: list[Any]) -> Any:
    total = sources[0]
    for source in sources[1:]:
        total = graph.call_function(torch.add, (total, source))
    return total


_JOINS: Mapping[str, Callable[[Any, Any, list[Any]], Any]] = {
    "add": _add,
    "concat": lambda torch, graph, sources: graph.call_function(torch.cat, (sources, 1)),
    "flatten": lambda _torch, _graph, sources: sources[0],
    "tokens": lambda _torch, graph, sources: graph.call_method("unsqueeze", (graph.call_method("flatten", (sources[0], 2)), 3)),
    "softmax": lambda _torch, _graph, sources: sources[0],
}
