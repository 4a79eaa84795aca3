"""A network as a layer table, with every shape checked and every count at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mlperf.core.errors import DataError
from mlperf.core.suggest import did_you_mean
from mlperf.specs.network.counts import layer_n_macs, layer_n_macs_backward, layer_n_params
from mlperf.specs.network.layer import NETWORK_INPUT, NORMS, WEIGHTED, Layer
from mlperf.specs.network.output_shape import output_shape
from mlperf.specs.network.shape import Shape, Size, pair
from mlperf.specs.network.sprint_form import SprintForm, sprint_form

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CnnSpec", "Layer", "Shape"]


@dataclass(frozen=True, slots=True)
class CnnSpec:
    """A network, convolutional or of tokens, by its layers in the order in which they run.

    Attributes
    ----------
    name : str
        What reports call it.
    input_maps : int
        Maps (channels) of a sample.
    input_size : (int, int)
        Height and width of a sample; a single integer stands for a square.
    layers : tuple of Layer
        Each reads earlier layers only; the last one is the output.
    shapes : Mapping[str, Shape]
        Output shape of every layer, and of ``"input"``.
    sources : Mapping[str, tuple of str]
        Names of the layers that each layer reads, with ``()`` already resolved to the layer before.

    Raises
    ------
    DataError
        Names the network, the layer, what it got, what it expected, and what to do.
    """

    name: str
    input_maps: int
    input_size: Size
    layers: tuple[Layer, ...]
    shapes: Mapping[str, Shape] = field(init=False, repr=False, compare=False)
    sources: Mapping[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise DataError(f"got {self.name!r}, expected a name", place="cnn, name", hint='As in name = "vgg16".')
        object.__setattr__(self, "layers", tuple(self.layers))
        object.__setattr__(self, "input_size", _checked_input(self))
        sources = _resolve(self.name, self.layers)
        object.__setattr__(self, "sources", sources)
        object.__setattr__(self, "shapes", _all_shapes(self, sources))

    @classmethod
    def from_sprint(
        cls,
        name: str,
        input_size: int,
        n_maps: Sequence[int],
        pools_after: Sequence[int] = (),
        n_conv: int | None = None,
        filter_size: int = 3,
        *,
        floor: bool = False,
    ) -> CnnSpec:
        """Build a network of the SPRINT form from the numbers of Table 1 of Oyama et al.

        Parameters
        ----------
        name : str
            What reports call it.
        input_size : int
            x_0, the width and height of a sample.
        n_maps : sequence of int
            m_0 .. m_L: maps of the input and of every layer.
        pools_after : sequence of int
            Numbers l (from 1) of the convolutions that are followed by 2 x 2 max pooling.
        n_conv : int, optional
            L_c; the remaining layers are fully connected. By default all layers are convolutions.
        filter_size : int
            c, for every convolution.
        floor : bool
            Whether pooling may drop the last row and column of an odd map; otherwise that is an error.
        """
        from mlperf.specs.network.sprint_build import sprint_layers

        layers = tuple(sprint_layers(input_size, n_maps, pools_after, n_conv, filter_size, floor=floor))
        return cls(name, n_maps[0], (input_size, input_size), layers)

    def __getitem__(self, name: str) -> Layer:
        """The layer called ``name``."""
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise DataError(
            f"got {name!r}, expected the name of a layer", place=f"cnn {self.name!r}", hint=did_you_mean(name, tuple(self.sources))
        )

    def input_shapes(self, layer: str) -> tuple[Shape, ...]:
        """Shapes that the layer of that name reads."""
        return tuple(self.shapes[source] for source in self.sources[layer])

    @property
    def output_shape(self) -> Shape:
        """Shape that the last layer writes."""
        return self.shapes[self.layers[-1].name]

    @property
    def n_params(self) -> int:
        """Learnt parameters, N_Param (eq. 3 of Oyama et al. where the SPRINT form applies)."""
        return sum(layer_n_params(layer, self.input_shapes(layer.name)[0]) for layer in self.layers)

    @property
    def n_macs(self) -> int:
        """Multiply-accumulates of matrix products, forward, for one sample (`mlperf.specs.network.counts.layer_n_macs`)."""
        return sum(self.layer_macs.values())

    @property
    def layer_macs(self) -> Mapping[str, int]:
        """`n_macs` of every layer by name."""
        return {layer.name: layer_n_macs(layer, self.input_shapes(layer.name), self.shapes[layer.name]) for layer in self.layers}

    @property
    def n_flops(self) -> int:
        """Floating-point operations forward for one sample: two for each multiply-accumulate, nothing else counted."""
        return 2 * self.n_macs

    @property
    def n_flops_backward(self) -> int:
        """The same for the backward pass: weight gradients of all layers, input gradients of all that need one."""
        needed = self.needs_gradient
        return 2 * sum(
            layer_n_macs_backward(
                layer,
                self.input_shapes(layer.name),
                self.shapes[layer.name],
                reaches_input=needed[self.sources[layer.name][0]],
            )
            for layer in self.layers
        )

    @property
    def needs_gradient(self) -> Mapping[str, bool]:
        """Whether the gradient of a layer's output is needed: some learnt parameter lies at or before the layer."""
        needed = {NETWORK_INPUT: False}
        for layer in self.layers:
            learns = layer.n_biases > 0 or (layer.kind in WEIGHTED and (layer.bias or layer.kind not in NORMS))
            needed[layer.name] = learns or any(needed[source] for source in self.sources[layer.name])
        return needed

    @property
    def consumers(self) -> Mapping[str, tuple[str, ...]]:
        """Names of the layers that read each layer's output (and ``"input"``), once per reading."""
        readers: dict[str, list[str]] = {name: [] for name in self.shapes}
        for name, sources in self.sources.items():
            for source in sources:
                readers[source].append(name)
        return {name: tuple(found) for name, found in readers.items()}

    @property
    def n_gradients(self) -> Mapping[str, int]:
        """Gradients that meet in each layer's output: one a reading, but parts of different maps fill one together."""
        by_name = {layer.name: layer for layer in self.layers}
        found: dict[str, int] = {}
        for name, readers in self.consumers.items():
            parts = [by_name[reader] for reader in readers if by_name[reader].kind == "part"]
            deepest = max((sum(one.first <= part.first < one.first + one.n_maps for one in parts) for part in parts), default=0)
            found[name] = len(readers) - len(parts) + deepest
        return found

    def sprint_form(self, *, floor: bool = False) -> SprintForm:
        """The numbers of the SPRINT form (eqs. 2 and 3 of Oyama et al.).

        Raises
        ------
        DataError
            The network is not of that form; says which layer and why.
        """
        return sprint_form(self, floor=floor)

    @property
    def is_sprint_form(self) -> bool:
        """Whether `sprint_form` applies."""
        try:
            self.sprint_form()
        except DataError:
            return False
        return True

    def layer_table(self) -> pd.DataFrame:
        """One row per layer: name, kind, inputs, output shape, n_params, n_macs (forward, one sample)."""
        import pandas as pd

        macs = self.layer_macs
        rows = [
            {
                "layer": layer.name,
                "kind": layer.kind,
                "inputs": ", ".join(self.sources[layer.name]),
                "n_maps": self.shapes[layer.name].n_maps,
                "height": self.shapes[layer.name].height,
                "width": self.shapes[layer.name].width,
                "n_params": layer_n_params(layer, self.input_shapes(layer.name)[0]),
                "n_macs": macs[layer.name],
            }
            for layer in self.layers
        ]
        return pd.DataFrame(rows)


def _checked_input(cnn: CnnSpec) -> Size:
    size: object = cnn.input_size
    both = (size, size) if isinstance(size, int) else size
    if isinstance(both, (tuple, list)) and len(both) == 2:
        numbers = (cnn.input_maps, *both)
        if all(isinstance(number, int) and not isinstance(number, bool) and number >= 1 for number in numbers):
            return pair(tuple(both))
    raise DataError(
        f"got {cnn.input_maps!r} maps of {size!r}, expected whole numbers >= 1",
        place=f"cnn {cnn.name!r}, input_maps and input_size",
        hint="For colour images of 224 x 224: input_maps = 3, input_size = [224, 224].",
    )


def _resolve(cnn: str, layers: tuple[Layer, ...]) -> dict[str, tuple[str, ...]]:
    """Who reads whom; every name known, unique, earlier, and read by somebody."""
    if not layers:
        raise DataError("got no layers, expected at least one", place=f"cnn {cnn!r}", hint="A network is a list of layers.")
    sources: dict[str, tuple[str, ...]] = {}
    previous = NETWORK_INPUT
    for layer in layers:
        place = f"cnn {cnn!r}, layer {layer.name!r}"
        if layer.name in sources:
            raise DataError("got this name twice, expected unique names", place=place, hint="Rename one of the two.")
        known = (NETWORK_INPUT, *sources)
        for source in layer.inputs:
            if source not in known:
                hint = f"Layers read earlier layers only. {did_you_mean(source, known)}"
                raise DataError(f"got {source!r}, expected the name of an earlier layer", place=f"{place}, inputs", hint=hint)
        sources[layer.name] = layer.inputs or (previous,)
        previous = layer.name
    _check_all_read(cnn, sources, previous)
    return sources


def _check_all_read(cnn: str, sources: Mapping[str, tuple[str, ...]], output: str) -> None:
    read = {source for each in sources.values() for source in each}
    for name in (NETWORK_INPUT, *sources):
        if name not in read and name != output:
            hint = "Name it in the inputs of a later layer, or remove it; the last layer is the output."
            raise DataError("got an output that no layer reads, expected a reader", place=f"cnn {cnn!r}, layer {name!r}", hint=hint)


def _all_shapes(cnn: CnnSpec, sources: Mapping[str, tuple[str, ...]]) -> dict[str, Shape]:
    shapes = {NETWORK_INPUT: Shape(cnn.input_maps, *cnn.input_size)}
    for layer in cnn.layers:
        try:
            shapes[layer.name] = output_shape(layer, tuple(shapes[source] for source in sources[layer.name]))
        except DataError as error:
            raise DataError(error.message, place=f"cnn {cnn.name!r}, {error.place}", hint=error.hint) from None
    return shapes
