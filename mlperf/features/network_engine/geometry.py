"""Sizes of a layer's maps as its kernels walk them, and which block of memory each array is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlperf.features.network_engine.passes import Extents, Operand
from mlperf.specs.kernels.fusion import Fusion, fusion
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import Layer
from mlperf.specs.network.shape import Shape


@dataclass(frozen=True, slots=True, eq=False)
class Buffers:
    """Names of the blocks of memory of one training step.

    Reshapes, activations that overwrite their input, and gradients that are handed on share a block.
    """

    cnn: CnnSpec
    fused: Fusion
    readers: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, cnn: CnnSpec) -> Buffers:
        """The blocks of a network."""
        return cls(cnn, fusion(cnn), {name: tuple(readers) for name, readers in cnn.consumers.items()})

    def value(self, name: str) -> str:
        """Block of a layer's output."""
        layers = {layer.name: layer for layer in self.cnn.layers}
        while name in layers and self.passes_on(layers[name]):
            name = self.cnn.sources[name][0]
        return f"value of {name}"

    def passes_on(self, layer: Layer) -> bool:
        """Whether a layer's output is its input under another shape."""
        return layer.kind in ("flatten", "softmax") or layer.name in self.fused.absorbed

    def gradient(self, name: str) -> str:
        """Block of the gradient by a layer's output."""
        layers = {layer.name: layer for layer in self.cnn.layers}
        while True:
            readers = self.readers.get(name, ())
            if len(readers) != 1:
                return f"gradient of {name}"
            reader = layers[readers[0]]
            if not self.passes_on(reader) and reader.kind != "add":
                return f"gradient of {name}"
            name = reader.name

    def sent(self, reader: str, source: str) -> str:
        """Block in which one of several readers leaves the gradient of a layer."""
        return self.gradient(source) if len(self.readers.get(source, ())) == 1 else f"gradient of {source} by {reader}"


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """Where a kernel runs: the network, a layer of it with its first input's shape and its output's, samples."""

    cnn: CnnSpec
    buffers: Buffers
    layer: Layer
    batch: int

    @property
    def source(self) -> str:
        """The layer's first input."""
        return self.cnn.sources[self.layer.name][0]

    @property
    def inputs(self) -> Shape:
        """Shape of the first input."""
        return self.cnn.input_shapes(self.layer.name)[0]

    @property
    def outputs(self) -> Shape:
        """Shape of the output."""
        return self.cnn.shapes[self.layer.name]

    @property
    def sent(self) -> str:
        """Block in which the gradient of the first input is left."""
        return self.buffers.sent(self.layer.name, self.source)


def map_extents(batch: int, shape: Shape) -> Extents:
    """Loops over a map, channels last."""
    return (("b", batch), ("y", shape.height), ("x", shape.width), ("c", shape.n_maps))


def map_strides(shape: Shape, step: tuple[int, int] = (1, 1)) -> dict[str, int]:
    """Elements from one trip to the next through a map (b, y, x, c), every ``step``-th row and column of it."""
    row = shape.width * shape.n_maps
    return {"b": shape.height * row, "y": step[0] * row, "x": step[1] * shape.n_maps, "c": 1}


def map_operand(array: str, access: str, shape: Shape, element_size: int = 4) -> Operand:
    """A whole map, element after element."""
    return Operand(array, access, map_strides(shape), element_size)
