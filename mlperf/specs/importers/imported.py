"""A network being read from a foreign graph: tensor names of theirs become layers of ours, shapes are checked at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mlperf.core.errors import DataError
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import NETWORK_INPUT, Layer
from mlperf.specs.network.output_shape import output_shape
from mlperf.specs.network.shape import Shape, Size, window_extent


@dataclass(slots=True)
class Imported:
    """Layers so far, in execution order.

    Attributes
    ----------
    name : str
        What the network will be called.
    input_shape : Shape
        Of one sample.
    layers : list of Layer
        With explicit inputs.
    shapes : dict
        Output shape of every layer, and of ``"input"``.
    aliases : dict
        Foreign tensor name to the layer that writes it.
    """

    name: str
    input_shape: Shape
    layers: list[Layer] = field(default_factory=list)
    shapes: dict[str, Shape] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.shapes[NETWORK_INPUT] = self.input_shape

    def add(self, tensor: str, kind: str, sources: Sequence[str], **numbers: Any) -> None:
        """Append a layer that reads the foreign tensors ``sources`` and writes ``tensor``."""
        inputs = tuple(self._writer(source) for source in sources)
        layer = Layer(self._free_name(tensor), kind, inputs=inputs, **numbers)
        self.shapes[layer.name] = output_shape(layer, tuple(self.shapes[source] for source in inputs))
        self.layers.append(layer)
        self.aliases[tensor] = layer.name

    def same(self, tensor: str, source: str) -> None:
        """``tensor`` holds the same numbers as ``source``: no layer."""
        self.aliases[tensor] = self._writer(source)

    def add_bias(self, tensor: str, source: str) -> bool:
        """Give the layer that wrote ``source`` a bias and call the sum ``tensor``; False where that layer cannot have one."""
        name = self._writer(source)
        for place, layer in enumerate(self.layers):
            if layer.name == name and layer.kind in ("conv", "fc") and not layer.bias:
                self.layers[place] = replace(layer, bias=True)
                self.aliases[tensor] = name
                return True
        return False

    def shape(self, tensor: str) -> Shape:
        """Shape of a foreign tensor."""
        return self.shapes[self._writer(tensor)]

    def check_width(self, tensor: str, what: str, expected: int, got: int) -> None:
        """The weights of a layer must fit the tensor that they are applied to.

        Raises
        ------
        DataError
            Names the tensor and both numbers.
        """
        if expected != got:
            hint = "Give the input shape for which the network was built; a fully connected layer needs a flat input."
            raise DataError(
                f"got {got} {what}, expected {expected} as the weights say", place=f"network {self.name!r}, {tensor!r}", hint=hint
            )

    def finish(self) -> CnnSpec:
        """The whole network, with inputs left implicit where they are the layer before."""
        before = (NETWORK_INPUT, *(layer.name for layer in self.layers))
        layers = [
            replace(layer, inputs=()) if layer.inputs == (last,) else layer
            for last, layer in zip(before, self.layers, strict=False)
        ]
        shape = self.input_shape
        return CnnSpec(self.name, shape.n_maps, (shape.height, shape.width), tuple(layers))

    def _writer(self, tensor: str) -> str:
        if tensor not in self.aliases:
            hint = "Sizes, constants and outputs beyond the first cannot be inputs of layers."
            raise DataError(f"got {tensor!r}, expected the output of a layer", place=f"network {self.name!r}", hint=hint)
        return self.aliases[tensor]

    def _free_name(self, tensor: str) -> str:
        name = tensor
        while name in self.shapes:
            name += "_"
        return name


def same_padding(shape: Shape, filter_size: Size, stride: Size, dilation: Size, place: str) -> Size:
    """Rows and columns to add on either side so that the output has ceil(input / stride) elements.

    Raises
    ------
    DataError
        An odd number of rows or columns would have to be added, more on one side than on the other.
    """
    numbers = zip((shape.height, shape.width), filter_size, stride, dilation, strict=True)
    totals = [max((-(-size // step) - 1) * step + window_extent(window, gap) - size, 0) for size, window, step, gap in numbers]
    if any(total % 2 for total in totals):
        hint = "Only equal padding on both sides is supported: use an odd filter, stride 1, or explicit padding."
        raise DataError(
            f"got 'same' padding of {totals[0]} rows and {totals[1]} columns, expected even numbers", place=place, hint=hint
        )
    return (totals[0] // 2, totals[1] // 2)


def unknown_operation(network: str, node: str, operation: str) -> DataError:
    """The error for an operation that has no layer."""
    return DataError(
        f"got the operation {operation}, expected one that has a layer",
        place=f"network {network!r}, node {node!r}",
        hint="Write this part of the network as layers in a TOML file, or replace the operation before the import.",
    )
