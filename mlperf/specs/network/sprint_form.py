"""The strict subset of networks that the SPRINT paper describes: eq. 2 and the numbers of its Table 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from mlperf.core.errors import DataError
from mlperf.core.shown import Shown
from mlperf.specs.network.counts import fan
from mlperf.specs.network.layer import Layer
from mlperf.specs.network.shape import Shape
from mlperf.specs.network.sprint_build import check_division


class LayerGraph(Protocol):
    """What the form is read from: named layers, what each reads and what each writes."""

    @property
    def name(self) -> str:
        """Name of the network."""

    @property
    def input_maps(self) -> int:
        """Maps of one sample."""

    @property
    def input_size(self) -> tuple[int, int]:
        """Height and width of one sample."""

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Layers in the order of the forward pass."""

    @property
    def sources(self) -> Mapping[str, tuple[str, ...]]:
        """By layer, the names that it reads; ``"input"`` is the sample."""

    @property
    def shapes(self) -> Mapping[str, Shape]:
        """By layer, what it writes."""

    def input_shapes(self, layer: str) -> tuple[Shape, ...]:
        """Shapes that a layer reads."""


@dataclass(frozen=True, slots=True)
class SprintForm(Shown):
    """A network in the symbols of Oyama et al.; index 0 of a tuple of L + 1 numbers is the input, else layer 1 comes first.

    Attributes
    ----------
    n_layers, n_conv : int
        L and L_c: layers with weights, and how many of them (the first ones) are convolutions.
    filter_size : int
        c.
    sizes : tuple of int, length L + 1
        x_0 .. x_L, after pooling.
    conv_sizes : tuple of int, length L
        x'_1 .. x'_L, before pooling.
    n_maps : tuple of int, length L + 1
        m_0 .. m_L.
    pools : tuple of int, length L
        p_1 .. p_L, each 1 or 2.
    fans : tuple of int, length L
        Inputs of one output element: c^2 m_{l-1}, or x_{l-1}^2 m_{l-1} where layer l is fully connected.
    layer_names : tuple of str, length L
        Names of the layers with weights.
    """

    n_layers: int
    n_conv: int
    filter_size: int
    sizes: tuple[int, ...]
    conv_sizes: tuple[int, ...]
    n_maps: tuple[int, ...]
    pools: tuple[int, ...]
    fans: tuple[int, ...]
    layer_names: tuple[str, ...]

    @property
    def n_params(self) -> int:
        """Eq. 3 of Oyama et al.: sum over l of m_l (fan(l) + 1)."""
        return sum(maps * (inputs + 1) for maps, inputs in zip(self.n_maps[1:], self.fans, strict=True))

    @property
    def n_macs(self) -> int:
        """Forward multiply-accumulates of one sample: sum over l of x'_l^2 m_l fan(l)."""
        return sum(
            size * size * maps * inputs for size, maps, inputs in zip(self.conv_sizes, self.n_maps[1:], self.fans, strict=True)
        )


def sprint_form(cnn: LayerGraph, *, floor: bool = False) -> SprintForm:
    """Read ``cnn`` in the symbols of Oyama et al., or say why it cannot be.

    Parameters
    ----------
    cnn : LayerGraph
        Any network; a `mlperf.specs.CnnSpec` is one.
    floor : bool
        Whether pooling of an odd size, which drops its last row and column, still counts as the form.

    Raises
    ------
    DataError
        Names the first layer that breaks the form.
    """
    _check_chain(cnn)
    weighted = tuple(layer for layer in cnn.layers if layer.kind in ("conv", "fc"))
    _check_order(cnn, weighted)
    filter_size = weighted[0].filter_size[0] if weighted[0].kind == "conv" else 0
    for layer in weighted:
        _check_weighted(cnn, layer, filter_size)
    pools = _pools(cnn, weighted, floor=floor)
    targets = [cnn.shapes[layer.name] for layer in weighted]
    return SprintForm(
        n_layers=len(weighted),
        n_conv=sum(layer.kind == "conv" for layer in weighted),
        filter_size=filter_size,
        sizes=(cnn.input_size[0], *(target.width // pool for target, pool in zip(targets, pools, strict=True))),
        conv_sizes=tuple(target.width for target in targets),
        n_maps=(cnn.input_maps, *(target.n_maps for target in targets)),
        pools=pools,
        fans=tuple(fan(layer, cnn.input_shapes(layer.name)[0]) for layer in weighted),
        layer_names=tuple(layer.name for layer in weighted),
    )


_TAILS = {
    "hidden": (("activation",), ("activation", "pool"), ("activation", "flatten"), ("activation", "pool", "flatten")),
    "last": ((), ("softmax",), ("flatten",), ("flatten", "softmax"), ("pool",), ("pool", "softmax")),
}
"""What may follow a layer with weights, before the next one and after the last one."""


def _pools(cnn: LayerGraph, weighted: tuple[Layer, ...], *, floor: bool) -> tuple[int, ...]:
    starts = [cnn.layers.index(layer) for layer in weighted]
    ends = [*starts[1:], len(cnn.layers)]
    pools = []
    for layer, start, end in zip(weighted, starts, ends, strict=True):
        tail = cnn.layers[start + 1 : end]
        kinds = tuple(each.kind for each in tail)
        allowed = _TAILS["last" if end == len(cnn.layers) else "hidden"]
        if kinds not in allowed:
            raise _form_error(
                cnn,
                layer,
                f"followed by {', '.join(kinds) or 'nothing'}",
                " or ".join(", ".join(each) or "nothing" for each in allowed),
            )
        pool = next((each for each in tail if each.kind == "pool"), None)
        pools.append(1 if pool is None else _checked_pool(cnn, pool, floor=floor))
    return tuple(pools)


def _checked_pool(cnn: LayerGraph, pool: Layer, *, floor: bool) -> int:
    plain = Layer(pool.name, "pool", inputs=pool.inputs, filter_size=(2, 2))
    if pool != plain:
        raise _form_error(
            cnn,
            pool,
            f"{pool.mode} pool of {pool.filter_size} with stride {pool.stride}, padding {pool.padding}",
            "max pooling of 2 x 2 with stride 2",
        )
    check_division(pool.name, cnn.input_shapes(pool.name)[0].width, 2, floor=floor)
    return 2


def _check_chain(cnn: LayerGraph) -> None:
    if cnn.input_size[0] != cnn.input_size[1]:
        raise _form_error(cnn, cnn.layers[0], f"an input of {cnn.input_size}", "a square input")
    previous = "input"
    for layer in cnn.layers:
        if cnn.sources[layer.name] != (previous,):
            raise _form_error(cnn, layer, f"inputs {', '.join(cnn.sources[layer.name])}", f"a chain: the one input {previous}")
        previous = layer.name


def _check_order(cnn: LayerGraph, weighted: tuple[Layer, ...]) -> None:
    first = cnn.layers[0]
    if first.kind not in ("conv", "fc"):
        raise _form_error(cnn, first, f"a first layer of kind {first.kind}", "a convolution or fully connected layer")
    for before, after in pairwise(weighted):
        if before.kind == "fc" and after.kind == "conv":
            raise _form_error(cnn, after, "a convolution after a fully connected layer", "all convolutions first")


def _check_weighted(cnn: LayerGraph, layer: Layer, filter_size: int) -> None:
    if not layer.bias:
        raise _form_error(cnn, layer, "no bias", "a bias (eq. 3 counts one for every map)")
    if layer.kind == "fc":
        return
    plain = Layer(layer.name, "conv", inputs=layer.inputs, n_maps=layer.n_maps, filter_size=(filter_size, filter_size))
    if layer != plain:
        got = ", ".join(f"{name} {getattr(layer, name)}" for name in ("filter_size", "stride", "padding", "dilation", "groups"))
        raise _form_error(cnn, layer, got, f"a valid convolution of {filter_size} x {filter_size} with stride 1")


def _form_error(cnn: LayerGraph, layer: Layer, got: str, expected: str) -> DataError:
    hint = "This network is not of the SPRINT form; everything but the paper's own formulas works with the general layer table."
    return DataError(f"got {got}, expected {expected}", place=f"cnn {cnn.name!r}, layer {layer.name!r}", hint=hint)
