"""A network being read from a foreign graph: tensor names of theirs become layers of ours, shapes are checked at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mlperf.core.errors import DataError
from mlperf.specs.importers.heads import Heads, Piece, Scores, with_projections
from mlperf.specs.importers.padding import Borders, equal_padding
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import NETWORK_INPUT, RESHAPES, Layer
from mlperf.specs.network.output_shape import output_shape
from mlperf.specs.network.shape import Shape, Size

MAPS_FIRST, FLAT = "bchw", "bc"
TOKENS_LAST, TOKENS_FIRST, STEPS_FIRST = "bct", "btc", "tbc"
ROWS_OF_TOKENS = ("mc", "nc")
MAPS_LAST = ("bhwc", TOKENS_FIRST, STEPS_FIRST, *ROWS_OF_TOKENS)
LAYOUTS = (MAPS_FIRST, FLAT, TOKENS_LAST, *MAPS_LAST)
"""Orders in which a foreign tensor may hold maps or tokens."""

_LAYOUTS = {"flatten": FLAT, "fc": FLAT, "select_token": FLAT, "tokens": TOKENS_LAST, "embedding": TOKENS_FIRST}
"""Order of what a kind of layer writes; other kinds keep that of what they read."""


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
    layouts : dict
        Order of a foreign tensor's dimensions, one letter each: samples b, maps c, height h, width w, tokens t; tokens of all
        samples in rows m, or samples of all tokens in rows n. Tensors that are not named have `MAPS_FIRST`.
    constants : dict
        Shapes of learnt tensors that no layer writes, by foreign name.
    padded : dict
        Foreign tensors that are another one with rows and columns of a constant around it; only windows can read them.
    grouped : dict
        Groups of foreign tensors whose maps stand in rows of one group each, or in columns.
    pieces : dict
        Foreign tuples of tensors: the tensor of whose maps each is a part, the number of the first, and how many.
    states : dict
        Foreign tensors that hold states of recurrent layers behind their last token: the tensor that such a layer writes, and
        the number of the direction.
    heads, scores : dict
        Foreign tensors of attention that is written out: parts of the maps of a layer, and their products.
    cores : dict
        By name of the layer that stands for the products of an attention: the layers that write its queries, keys and values.
    batch : int
        Samples in the foreign graph's tensors; 1 where that is open.
    tokens : str
        The foreign input, where that is one index for each token.
    learnt_numbers : set
        Names of constants that hold one number which is learnt.
    learnt : dict
        By constant tensor, what it was computed from: learnt numbers by the name of the tensor that holds them.
    partly_learnt : dict
        By constant vector, sizes of the parts that it is joined of, and whether each is learnt.
    folded : set
        Names of constants that an exporter computed from learnt tensors, or only turned: how many were learnt is not known.
    parted : set
        Names of concatenations of linear layers that the foreign graph has as one, of which only some maps have a learnt bias.
    """

    name: str
    input_shape: Shape
    layers: list[Layer] = field(default_factory=list)
    shapes: dict[str, Shape] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    layouts: dict[str, str] = field(default_factory=dict)
    constants: dict[str, tuple[int, ...]] = field(default_factory=dict)
    padded: dict[str, tuple[str, Borders]] = field(default_factory=dict)
    grouped: dict[str, int] = field(default_factory=dict)
    pieces: dict[str, tuple[tuple[str, int, int], ...]] = field(default_factory=dict)
    states: dict[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    heads: dict[str, Heads] = field(default_factory=dict)
    scores: dict[str, Scores] = field(default_factory=dict)
    cores: dict[str, tuple[Piece, ...]] = field(default_factory=dict)
    batch: int = 1
    tokens: str = ""
    learnt_numbers: set[str] = field(default_factory=set)
    learnt: dict[str, dict[str, int]] = field(default_factory=dict)
    partly_learnt: dict[str, list[tuple[int, bool]]] = field(default_factory=dict)
    folded: set[str] = field(default_factory=set)
    parted: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.shapes[NETWORK_INPUT] = self.input_shape

    def add(self, tensor: str, kind: str, sources: Sequence[str], **numbers: Any) -> None:
        """Append a layer that reads the foreign tensors ``sources`` and writes ``tensor``."""
        inputs = tuple(self._writer(source) for source in sources)
        layer = Layer(self._free_name(tensor), kind, inputs=inputs, **numbers)
        self.shapes[layer.name] = output_shape(layer, tuple(self.shapes[source] for source in inputs))
        self.layers.append(layer)
        self.aliases[tensor] = layer.name
        self.layouts[tensor] = _LAYOUTS.get(kind, self.layout(sources[0]))

    def add_core(self, tensor: str, n_maps: int, factors: Sequence[Piece], **numbers: Any) -> None:
        """The products of an attention; `finish` makes it whole. ``factors`` are queries, keys and values, as foreign tensors."""
        pieces = tuple(self._piece(*factor) for factor in factors)
        layer = Layer(self._free_name(tensor), "attend", inputs=tuple(writer for writer, *_ in pieces), **numbers)
        self.shapes[layer.name] = replace(self.shapes[pieces[0][0]], n_maps=n_maps)
        self.layers.append(layer)
        self.cores[layer.name] = pieces
        self.aliases[tensor] = layer.name
        self.layouts[tensor] = TOKENS_FIRST if self.shapes[layer.name].width == 1 else "bhwc"

    def copied(self, tensor: str, source: str) -> None:
        """``tensor`` holds all numbers of ``source``, laid out anew: a pass over them, one for several such in a row."""
        layer = next((each for each in self.layers if each.name == self._writer(source)), None)
        if layer is not None and layer.kind == "part" and layer.n_maps == self.shapes[layer.inputs[0]].n_maps:
            self.same(tensor, source)
        else:
            self.add(tensor, "part", [source], n_maps=self.shape(source).n_maps)

    def joined(self, tensor: str, kind: str, sources: Sequence[str]) -> None:
        """A sum or concatenation; of one tensor alone it is that tensor."""
        if len(sources) == 1:
            self.same(tensor, sources[0])
        else:
            self.add(tensor, kind, sources)

    def turned(self, source: str) -> str:
        """A tensor of tokens with each map as a token, and the tokens as maps, laid out anew; the foreign one is the same."""
        shape, tensor = self.shape(source), f"{source}_turned"
        if tensor not in self.aliases:
            self.copied(f"{tensor}_copy", source)
            self.add(tensor, "unflatten", [f"{tensor}_copy"], n_maps=shape.height, output_size=(shape.n_maps, 1))
            self.layouts[tensor] = {TOKENS_LAST: TOKENS_FIRST, TOKENS_FIRST: TOKENS_LAST}[self.layout(source)]
        return tensor

    def alike(self, sources: Sequence[str]) -> list[str]:
        """The same foreign tensors, turned where maps of one are the tokens of the first."""
        first, turned = self.layout(sources[0]), {TOKENS_FIRST: TOKENS_LAST, TOKENS_LAST: TOKENS_FIRST}
        return [sources[0], *(self.turned(each) if self.layout(each) == turned.get(first) else each for each in sources[1:])]

    def same(self, tensor: str, source: str, layout: str = "") -> None:
        """``tensor`` holds the same numbers as ``source``, perhaps in another order: no layer."""
        self.aliases[tensor] = self._writer(source)
        self.layouts[tensor] = layout or self.layout(source)
        if not layout and source in self.grouped:
            self.grouped[tensor] = self.grouped[source]

    def part(self, tensor: str, source: str, first: int, n_maps: int) -> None:
        """``tensor`` is ``n_maps`` maps of ``source``, from number ``first`` on; all of them are the same tensor."""
        writer, first, n_maps = self._piece(source, first, n_maps)
        if n_maps == self.shapes[writer].n_maps:
            self.same(tensor, source)
            self.aliases[tensor] = writer
        else:
            self.add(tensor, "part", [source], first=first, n_maps=n_maps)

    def number(self, tensor: str, source: str) -> bool:
        """One number added to every element of ``source``, or multiplied with it: a pass over the elements."""
        self.add(tensor, "activation", [source], function="identity")
        return True

    def learnt_number(self, tensor: str, source: str, kind: str) -> bool:
        """As `number`, of a number that is learnt: a layer scale or shift of all elements as one map."""
        shape, layout = self.shape(source), self.layout(source)
        whole, written = f"{tensor}_whole", f"{tensor}_written"
        self.add(whole, "unflatten", [source], n_maps=1, output_size=(shape.n_maps * shape.height, shape.width))
        self.add(written, kind, [whole])
        self.add(tensor, "unflatten", [written], n_maps=shape.n_maps, output_size=(shape.height, shape.width))
        self.layouts[tensor] = layout
        return True

    def pad(self, tensor: str, source: str, borders: Borders) -> bool:
        """``tensor`` is ``source`` with rows and columns around it, for the window that reads it; False for a negative number."""
        source, before = self.unpadded(source)
        top, left, bottom, right = (old + new for old, new in zip(before, borders, strict=True))
        if not any((top, left, bottom, right, *borders)):
            self.same(tensor, source)
            return True
        if min(borders) < 0 or self.layout(source) not in (MAPS_FIRST, TOKENS_LAST):
            return False
        self.padded[tensor] = (source, (top, left, bottom, right))
        return True

    def unpadded(self, tensor: str) -> tuple[str, Borders]:
        """The tensor without what `pad` put around it, and that."""
        return self.padded.get(tensor, (tensor, (0, 0, 0, 0)))

    def under_window(
        self, tensor: str, window: Sequence[Size], own: Borders, place: str, *, ceil_mode: bool = False
    ) -> tuple[str, Size]:
        """What a window reads, and its rows and columns on either side: its own, and those that `pad` put before it.

        Where no equal number on both sides gives as many outputs, those before it are written first: a copy onto larger maps.
        """
        source, before = self.unpadded(tensor)
        top, left, bottom, right = (one + other for one, other in zip(own, before, strict=True))
        try:
            return source, equal_padding(self.shape(source), window, (top, left, bottom, right), place, ceil_mode=ceil_mode)
        except DataError:
            if tensor not in self.padded:
                raise
        self._write_borders(tensor)
        return tensor, equal_padding(self.shape(tensor), window, own, place, ceil_mode=ceil_mode)

    def layout(self, tensor: str) -> str:
        """Order of a foreign tensor's dimensions."""
        return self.layouts.get(tensor, MAPS_FIRST)

    def permuted(self, tensor: str, source: str, order: Sequence[int]) -> bool:
        """``tensor`` is ``source`` with its dimensions in another order; False where maps would change places with each other."""
        before = self.layout(source)
        if sorted(place % len(before) for place in order) != list(range(len(before))):
            return False
        after = "".join(before[place] for place in order)
        if after not in LAYOUTS:
            return False
        self.same(tensor, source, after)
        return True

    def linear(self, tensor: str, source: str, n_inputs: int, n_maps: int, *, bias: bool) -> None:
        """A product with weights: of whole samples, or of the maps at each place where these come last."""
        if self.layout(source) == TOKENS_LAST and n_inputs == self.shape(source).height:
            source = self.turned(source)
        if self.layout(source) in MAPS_LAST:
            self.check_width(tensor, "maps", n_inputs, self.shape(source).n_maps)
            self.add(tensor, "conv", [source], n_maps=n_maps, filter_size=(1, 1), bias=bias)
        else:
            self.check_width(tensor, "elements", n_inputs, self.shape(source).size)
            self.add(tensor, "fc", [source], n_maps=n_maps, bias=bias)

    def global_pool(self, tensor: str, source: str, dimensions: Sequence[int], *, keeps: bool, mode: str = "average") -> bool:
        """A mean or maximum over all places of the maps; False where it is over anything else."""
        layout = self.layout(source)
        if not dimensions or {layout[place] for place in dimensions} not in ({"h", "w"}, {"t"}):
            return False
        self.add(tensor, "pool", [source], mode=mode, output_size=(1, 1))
        if not keeps:
            self.layouts[tensor] = FLAT
        return True

    def varies_by_map(self, tensor: str, shape: Sequence[int]) -> bool:
        """Whether a constant of that shape has one number for each map of ``tensor``."""
        letters = [letter for letter, size in zip(reversed(self.layout(tensor)), reversed(shape), strict=False) if size > 1]
        return letters == ["c"] and max(shape) == self.shape(tensor).n_maps

    def with_constant(self, tensor: str, kind: str, source: str, shape: Sequence[int]) -> bool:
        """Layer scale or position embedding, from the shape of the learnt tensor; False where it is neither."""
        layout, sizes = self.layout(source), self.sizes(source)
        shape = (*(1,) * (len(layout) - len(shape)), *shape)
        varies = {letter for letter, size in zip(layout, shape, strict=False) if size > 1}
        wanted = {"c"} if kind == "layer_scale" else {letter for letter in layout if letter != "b" and sizes[letter] > 1}
        if (
            len(shape) != len(layout)
            or varies != wanted
            or any(size not in (1, sizes[letter]) for letter, size in zip(layout, shape, strict=True))
        ):
            return False
        self.add(tensor, kind, [source])
        return True

    def add_bias(self, tensor: str, source: str, parts: Sequence[tuple[int, bool]] = ()) -> bool:
        """Give the layer that wrote ``source`` a bias and call the sum ``tensor``; False where that layer cannot have one.

        Of ``parts`` of its maps, given by sizes and whether their biases are learnt, each becomes a layer of its own.
        """
        name = self._writer(source)
        for place, layer in enumerate(self.layers):
            if layer.name == name and layer.kind in ("conv", "fc") and not layer.bias and (not parts or layer.groups == 1):
                self.layers[place : place + 1] = self._by_bias(layer, parts) if parts else [replace(layer, bias=True)]
                self.same(tensor, source)
                return True
        return False

    def _by_bias(self, layer: Layer, parts: Sequence[tuple[int, bool]]) -> list[Layer]:
        """The layer as one for each part of its maps, and these joined under its name."""
        names = [self._free_name(f"{layer.name}_{number}") for number in range(len(parts))]
        found = [replace(layer, name=name, n_maps=size, bias=bias) for name, (size, bias) in zip(names, parts, strict=True)]
        self.shapes.update({each.name: replace(self.shapes[layer.name], n_maps=each.n_maps) for each in found})
        self.parted.add(layer.name)
        return [*found, Layer(layer.name, "concat", inputs=tuple(names))]

    def _piece(self, source: str, first: int, n_maps: int) -> Piece:
        """Who writes some maps of a tensor: of a linear layer that was parted the part, where they lie in one."""
        writer = self._writer(source)
        layer = next((each for each in self.layers if each.name == writer and writer in self.parted), None)
        start = first
        for name in layer.inputs if layer is not None else ():
            size = self.shapes[name].n_maps
            if start >= 0 and start + n_maps <= size:
                return name, start, n_maps
            start -= size
        return writer, first, n_maps

    def shape(self, tensor: str) -> Shape:
        """Shape of a foreign tensor."""
        return self.shapes[self._writer(tensor)]

    def sizes(self, tensor: str) -> dict[str, int]:
        """Sizes of a foreign tensor by the letters of its layout; g counts groups of maps, c then the maps of one."""
        ours, groups = self.shape(tensor), self.grouped.get(tensor, 1)
        return {
            "b": self.batch,
            "c": ours.n_maps // groups,
            "g": groups,
            "h": ours.height,
            "w": ours.width,
            "t": ours.map_size,
            **dict.fromkeys("mn", self.batch * ours.map_size),
        }

    def _write_borders(self, tensor: str) -> None:
        """Maps with rows and columns around them: a pass that reads and writes as many numbers as one that makes maps larger."""
        source, (top, left, bottom, right) = self.padded.pop(tensor)
        shape = self.shape(source)
        self.add(tensor, "resize", [source], mode="nearest", output_size=(shape.height + top + bottom, shape.width + left + right))

    def state(self, tensor: str, state: tuple[str, int]) -> None:
        """``tensor`` is the state of one direction of a recurrent layer behind its last token."""
        source, direction = state
        layer = next(each for each in self.layers if each.name == self._writer(source))
        whole = f"{tensor}_token" if layer.bidirectional else tensor
        self.add(whole, "select_token", [source])
        if layer.bidirectional:
            self.part(tensor, whole, direction * layer.n_maps, layer.n_maps)

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
        whole = with_projections(_read_by_any(self.layers, self.parted), self.shapes, self.cores)
        before = (NETWORK_INPUT, *(layer.name for layer in whole))
        layers = [
            replace(layer, inputs=()) if layer.inputs == (last,) else layer for last, layer in zip(before, whole, strict=False)
        ]
        shape = self.input_shape
        return CnnSpec(self.name, shape.n_maps, (shape.height, shape.width), tuple(layers))

    def _writer(self, tensor: str) -> str:
        if tensor in self.padded:
            hint = "Rows and columns around maps are part of the convolution or pool that reads them: only these may."
            got = f"got padding {list(self.padded[tensor][1])} read by another kind of layer, expected a convolution or pool"
            raise DataError(got, place=f"network {self.name!r}, {tensor!r}", hint=hint)
        if tensor not in self.aliases:
            hint = "Sizes, constants and outputs beyond the first cannot be inputs of layers."
            raise DataError(f"got {tensor!r}, expected the output of a layer", place=f"network {self.name!r}", hint=hint)
        return self.aliases[tensor]

    def _free_name(self, tensor: str) -> str:
        name = tensor
        while name in self.shapes:
            name += "_"
        return name


def _read_by_any(layers: Sequence[Layer], parted: Collection[str]) -> list[Layer]:
    """The layers without other shapes of a tensor, and parted linear layers joined, in which nothing reads it."""
    kept: list[Layer] = []
    read = {layers[-1].name} if layers else set()
    for layer in reversed(layers):
        if (layer.kind not in RESHAPES and layer.name not in parted) or layer.name in read:
            kept.append(layer)
            read.update(layer.inputs)
    return kept[::-1]


IN_TOML = "Write this part of the network as layers in a TOML file, or replace the operation before the import."


def unknown_operation(network: str, node: str, operation: str, hint: str = IN_TOML) -> DataError:
    """The error for an operation that has no layer."""
    return DataError(
        f"got the operation {operation}, expected one that has a layer",
        place=f"network {network!r}, node {node!r}",
        hint=hint,
    )
