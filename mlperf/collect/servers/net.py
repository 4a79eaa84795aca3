"""A chain of layers as the trainer sees it: rows that can be cut into stripes, and where each layer's weights lie in one vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlperf.collect.canonical.build import convolution, dense, pool
from mlperf.collect.canonical.loops import Floats, Loops
from mlperf.core.errors import DataError
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import Layer
from mlperf.specs.network.shape import Shape

PLACE = "mlperf collect ps"
WITHOUT_WORK = ("activation", "flatten", "softmax")
HINT = "Convolutions (stride 1, no padding, tanh), pools without overlap and fully connected layers (tanh), one after the other."


@dataclass(frozen=True, slots=True)
class NetLayer:
    """One layer with work of its own.

    Attributes
    ----------
    name, kind : str
        Of the specification; ``fc``, ``conv`` or ``pool``.
    rows, width, maps : int
        Output; a fully connected layer has as many rows as neurons.
    in_rows, in_width, in_maps : int
        Input as images have it.
    kernel : int
        Side of kernels or windows; 0 for ``fc``.
    offset : int
        Where its parameters begin in the vector of all.
    """

    name: str
    kind: str
    rows: int
    width: int
    maps: int
    in_rows: int
    in_width: int
    in_maps: int
    kernel: int
    offset: int

    @property
    def per(self) -> int:
        """Values of an output row."""
        return self.width * self.maps

    @property
    def weights_shape(self) -> tuple[int, int]:
        """Parameters with biases: (n_out, n_in + 1) or (c * c * maps_in + 1, maps_out); (0, 0) of a pool."""
        if self.kind == "fc":
            return self.rows, self.in_rows * self.in_width * self.in_maps + 1
        return (self.kernel**2 * self.in_maps + 1, self.maps) if self.kind == "conv" else (0, 0)

    @property
    def n_params(self) -> int:
        """Parameters."""
        return int(np.prod(self.weights_shape))

    def bounds(self, n_stripes: int, stripe: int) -> tuple[int, int]:
        """Rows of a stripe: [floor(rows p / P), floor(rows (p + 1) / P))."""
        return self.rows * stripe // n_stripes, self.rows * (stripe + 1) // n_stripes

    def needs(self, first: int, last: int, source_rows: int) -> tuple[int, int]:
        """Rows of the layer below that output rows ``first`` to ``last`` read; all of them for ``fc``."""
        if self.kind == "fc":
            return 0, source_rows
        stride = self.kernel if self.kind == "pool" else 1
        return first * stride, (last - 1) * stride + self.kernel

    def span(self, n_stripes: int, stripe: int) -> tuple[int, int]:
        """Where the parameters of a stripe lie in the vector of all: its own rows of ``fc``, all kernels of ``conv``."""
        if self.kind != "fc":
            return self.offset, self.offset + self.n_params
        first, last = self.bounds(n_stripes, stripe)
        columns = self.weights_shape[1]
        return self.offset + first * columns, self.offset + last * columns

    def loops(self, code: str, weights: Floats, first: int, last: int) -> Loops:
        """The loops of output rows ``first`` to ``last``; ``weights`` as a vector, of those rows for ``fc``."""
        if self.kind == "fc":
            return dense(code, weights.reshape(last - first, self.weights_shape[1]))
        low, high = self.needs(first, last, self.in_rows)
        if self.kind == "conv":
            return convolution(code, weights.reshape(self.weights_shape), self.kernel, high - low, self.in_width)
        return pool(code, self.kernel, high - low, self.in_width, self.in_maps)

    def case_sizes(self, n_stripes: int) -> tuple[int, ...]:
        """The largest stripe in the sizes of the canonical benchmarks."""
        most = -(-self.rows // n_stripes)
        if self.kind == "fc":
            return self.weights_shape[1] - 1, most
        low, high = self.needs(0, most, self.in_rows)
        if self.kind == "conv":
            return high - low, self.in_width, self.in_maps, self.maps, self.kernel
        return high - low, self.in_width, self.in_maps, self.kernel


@dataclass(frozen=True, slots=True)
class Net:
    """All layers of a chain.

    Attributes
    ----------
    name : str
        Of the specification.
    layers : tuple of NetLayer
        From the input up.
    """

    name: str
    layers: tuple[NetLayer, ...]

    @property
    def n_params(self) -> int:
        """Parameters of all layers."""
        return sum(layer.n_params for layer in self.layers)

    def rows_below(self, number: int) -> tuple[int, int]:
        """Rows that layer ``number`` (from 0) reads, and values of a row."""
        if number == 0:
            first = self.layers[0]
            return first.in_rows, first.in_width * first.in_maps
        below = self.layers[number - 1]
        return below.rows, below.per

    def first_weights(self, seed: int) -> Floats:
        """Random weights, normal with variance 1 / inputs, biases 0, shape (n_params,)."""
        rng = np.random.default_rng(seed)
        parts = []
        for layer in self.layers:
            if not layer.n_params:
                continue
            rows, columns = layer.weights_shape
            fan = columns - 1 if layer.kind == "fc" else rows - 1
            values = rng.standard_normal((rows, columns)) / np.sqrt(fan)
            if layer.kind == "fc":
                values[:, -1] = 0.0
            else:
                values[-1] = 0.0
            parts.append(values.ravel().astype(np.float32))
        found: Floats = np.concatenate(parts)
        return found


def net_of(cnn: CnnSpec) -> Net:
    """The chain behind a specification.

    Raises
    ------
    DataError
        Names the first layer that the trainer cannot run.
    """
    layers: list[NetLayer] = []
    source, offset = cnn.shapes["input"], 0
    for layer in cnn.layers:
        check_layer(cnn, layer)
        target = cnn.shapes[layer.name]
        if layer.kind in WITHOUT_WORK:
            continue
        new = chain_layer(layer, source, target, offset)
        layers.append(new)
        offset, source = offset + new.n_params, target
    check_functions(cnn)
    return Net(cnn.name, tuple(layers))


def chain_layer(layer: Layer, source: Shape, target: Shape, offset: int) -> NetLayer:
    """One layer with its shapes."""
    if layer.kind == "fc":
        size = (target.size, 1, 1, source.height, source.width, source.n_maps, 0)
    else:
        size = (target.height, target.width, target.n_maps, source.height, source.width, source.n_maps, layer.filter_size[0])
    return NetLayer(layer.name, layer.kind, *size, offset)


def check_layer(cnn: CnnSpec, layer: Layer) -> None:
    """Refuse what the loops do not compute."""
    simple = layer.padding == (0, 0) and layer.groups == 1 and layer.dilation == (1, 1) and layer.bias
    square = layer.filter_size[0] == layer.filter_size[1]
    known = {
        "conv": simple and square and layer.stride == (1, 1),
        "pool": simple and square and layer.stride == layer.filter_size and layer.mode == "max",
        "fc": layer.bias,
        **dict.fromkeys(WITHOUT_WORK, True),
    }
    if not known.get(layer.kind, False) or len(cnn.sources[layer.name]) != 1:
        raise DataError(f"got the layer {layer.name!r} ({layer.kind}), which this trainer cannot run", place=PLACE, hint=HINT)


def check_functions(cnn: CnnSpec) -> None:
    """Every layer with weights is followed by tanh, as eqs. 1 to 3 are trained here."""
    for layer, behind in zip(cnn.layers, [*cnn.layers[1:], None], strict=True):
        follows = behind is not None and behind.kind == "activation" and behind.function == "tanh"
        if layer.kind in ("conv", "fc") and not follows:
            raise DataError(f"got {layer.name!r} without tanh behind it, expected one", place=PLACE, hint=HINT)


def shipped_nets(names: Sequence[str] = ("digits-fc", "digits-conv")) -> dict[str, CnnSpec]:
    """The networks that need no file: fully connected on 8 x 8 digits, and a convolution on the same enlarged to 16 x 16."""
    dense = (*_dense(1, 1024), *_dense(2, 1024), *_dense(3, 10))
    conv = (
        Layer("conv1", "conv", n_maps=16, filter_size=(5, 5)),
        _tanh(1),
        Layer("pool1", "pool", filter_size=(2, 2), stride=(2, 2)),
        *(*_dense(2, 1536), *_dense(3, 768), *_dense(4, 10)),
    )
    found = {"digits-fc": CnnSpec("digits-fc", 1, (8, 8), dense), "digits-conv": CnnSpec("digits-conv", 1, (16, 16), conv)}
    return {name: found[name] for name in names}


def _dense(number: int, n_maps: int) -> tuple[Layer, Layer]:
    return Layer(f"fc{number}", "fc", n_maps=n_maps), _tanh(number)


def _tanh(number: int) -> Layer:
    return Layer(f"tanh{number}", "activation", function="tanh")
