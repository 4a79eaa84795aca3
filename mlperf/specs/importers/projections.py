"""Attention that a foreign graph writes out, made one layer together with the projections before and behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlperf.core.errors import DataError
from mlperf.specs.network.layer import Layer
from mlperf.specs.network.shape import Shape

Piece = tuple[str, int]
"""The layer that writes some maps, and the number of the first."""

EXPECTED = "expected self-attention as a layer has it"
HINT = (
    "Such a layer has queries, keys and values of one tensor, as wide as it, by linear layers that nothing else reads, "
    "and a linear layer behind: write other attention as layers in a TOML file, or replace it before the import."
)


def with_projections(
    network: str, layers: Sequence[Layer], shapes: Mapping[str, Shape], cores: Mapping[str, Sequence[Piece]]
) -> list[Layer]:
    """The layers with one of attention in place of each core, its linear layers and parts of these.

    Parameters
    ----------
    network : str
        For messages.
    layers : sequence of Layer
        With explicit inputs.
    shapes : mapping
        Output shape of every layer, and of the network's input.
    cores : mapping
        By the name of a layer that stands for the products of activations: what its queries, keys and values are.

    Raises
    ------
    DataError
        A core has other projections than a layer of attention; says which.
    """
    found = list(layers)
    for core, pieces in cores.items():
        found = _Core.among(network, found, core, pieces).folded(network, found, shapes)
    return found


@dataclass(frozen=True, slots=True)
class _Core:
    """A core, the maps that it reads, the linear layers and parts that write these, and what reads it."""

    layer: Layer
    pieces: frozenset[Piece]
    before: tuple[Layer, ...]
    parts: tuple[Layer, ...]
    behind: Layer

    @classmethod
    def among(cls, network: str, layers: Sequence[Layer], name: str, pieces: Sequence[Piece]) -> _Core:
        by_name = {layer.name: layer for layer in layers}
        sources, parts, maps = {}, {}, set()
        for writer, first in pieces:
            while writer in by_name and by_name[writer].kind == "part":
                parts[writer], first = by_name[writer], first + by_name[writer].first
                writer = by_name[writer].inputs[0]
            maps.add((writer, first))
            sources[writer] = by_name.get(writer)
        readers = [layer for layer in layers if name in layer.inputs]
        before = tuple(layer for layer in sources.values() if layer is not None)
        if len(before) != len(sources) or len(readers) != 1:
            reads = f"results that {len(readers)} layers read" if before else "queries, keys or values straight from the input"
            raise _refusal(network, name, reads)
        return cls(by_name[name], frozenset(maps), before, tuple(parts.values()), readers[0])

    def folded(self, network: str, layers: Sequence[Layer], shapes: Mapping[str, Shape]) -> list[Layer]:
        """The layers with one in place of all of these; where only the projection behind has biases, these stay as a layer."""
        wrong = self._unlike_a_layer(layers, shapes)
        if wrong:
            raise _refusal(network, self.layer.name, wrong)
        inputs, bias = self.before[0].inputs, self.before[0].bias
        whole = [Layer(self.behind.name, "attention", inputs=inputs, n_heads=self.layer.n_heads, bias=bias)]
        if self.behind.bias and not bias:
            whole = [
                Layer(self.layer.name, "attention", inputs=inputs, n_heads=self.layer.n_heads, bias=False),
                Layer(self.behind.name, "layer_shift", inputs=(self.layer.name,)),
            ]
        gone = {layer.name for layer in (*self.before, *self.parts, self.layer)}
        return [new for layer in layers if layer.name not in gone for new in (whole if layer.name == self.behind.name else [layer])]

    def _unlike_a_layer(self, layers: Sequence[Layer], shapes: Mapping[str, Shape]) -> str:
        """What keeps this from being one layer; nothing if it is one."""
        width, ours = shapes[self.layer.name].n_maps, {layer.name for layer in (*self.before, *self.parts)}
        within = {*ours, self.layer.name}
        linear = all(_is_linear(layer) for layer in (*self.before, self.behind))
        sources = {layer.inputs for layer in self.before}
        reasons = {
            "projections other than linear layers": not linear,
            f"queries, keys and values of {len(sources)} tensors": len(sources) != 1,
            "queries, keys or values that are the same maps": len(self.pieces) != 3,
            "a projection that another layer reads": any(
                ours.intersection(layer.inputs) and layer.name not in within for layer in layers
            ),
        }
        if not any(reasons.values()):
            read, written = shapes[self.before[0].inputs[0]].n_maps, sum(layer.n_maps for layer in self.before)
            widths = (read, written, self.behind.n_maps)
            biases = {layer.bias for layer in self.before}
            reasons[f"projections of {widths[0]} maps to {widths[1]} and back to {widths[2]}"] = widths != (width, 3 * width, width)
            reasons["biases of some projections only (files in other than training mode leave out those that are zeros)"] = len(
                biases
            ) > 1 or (biases == {True} and not self.behind.bias)
        return next((reason for reason, is_so in reasons.items() if is_so), "")


def _is_linear(layer: Layer) -> bool:
    return layer.kind == "conv" and (layer.filter_size, layer.stride, layer.padding, layer.groups) == ((1, 1), (1, 1), (0, 0), 1)


def _refusal(network: str, name: str, got: str) -> DataError:
    return DataError(f"got attention with {got}, {EXPECTED}", place=f"network {network!r}, {name!r}", hint=HINT)
