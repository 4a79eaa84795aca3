"""Layers as the KDD'15 model sees them: connections, parameters, and rows that a stripe may own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.core.shown import Shown

FC, CONV, POOL = KINDS = ("fc", "conv", "pool")


@dataclass(frozen=True, slots=True, eq=False)
class LayerTable(Shown):
    """The layers of a network from the first after the input to the output; arrays of shape (n_layers,).

    Attributes
    ----------
    name : str
        Of the network.
    layers : tuple of str
        Names.
    kind : tuple of str
        ``fc``, ``conv`` or ``pool``.
    rows : array of int
        What stripes divide: the height of a map, or the neurons of a fully connected layer.
    per : array
        Values of one row: width times maps; 1 of a fully connected layer.
    n_connections : array
        Multiply-adds of one sample, W.
    n_params : array
        Stored weights and biases; 0 of a pooling layer.
    kernel, stride, pad : array of int
        Of the rows; 1, 1, 0 of a fully connected layer.
    """

    name: str
    layers: tuple[str, ...]
    kind: tuple[str, ...]
    rows: IntArray
    per: FloatArray
    n_connections: FloatArray
    n_params: FloatArray
    kernel: IntArray
    stride: IntArray
    pad: IntArray

    def __post_init__(self) -> None:
        if not self.kind:
            raise DataError("got no layer, expected at least one", place=f"network {self.name!r}")
        for name, kind in zip(self.layers, self.kind, strict=True):
            if kind not in KINDS:
                raise DataError(f"got kind {kind!r}, expected one of {', '.join(KINDS)}", place=f"layer {name!r}")
        later = np.flatnonzero(~self.is_fc[1:] & self.is_fc[:-1])
        if later.size:
            name = self.layers[int(later[0]) + 1]
            raise DataError(f"layer {name!r} reads maps behind a fully connected layer", place=f"network {self.name!r}")

    @property
    def n_layers(self) -> int:
        """Number of layers."""
        return len(self.kind)

    @property
    def is_fc(self) -> BoolArray:
        """Fully connected layers, which read all of the layer below."""
        return np.array([kind == FC for kind in self.kind])

    @property
    def n_neurons(self) -> FloatArray:
        """Values of one sample, N."""
        return np.asarray(self.rows * self.per)

    @property
    def all_params(self) -> float:
        """Parameters of the network."""
        return float(self.n_params.sum())


def share(rows: FloatArray | IntArray, n_stripes: FloatArray | IntArray) -> FloatArray:
    """Part of a layer that its largest stripe owns, ceil(rows / P) / rows."""
    return np.asarray(np.ceil(np.asarray(rows) / n_stripes) / rows)


def segment_params(table: LayerTable, layer: int, n_stripes: FloatArray | IntArray) -> FloatArray:
    """Parameters of the largest segment: its part of a fully connected layer, all kernels of a convolution."""
    part = share(table.rows[layer], n_stripes) if table.kind[layer] == FC else np.ones(np.shape(n_stripes))
    return np.asarray(table.n_params[layer] * part)


def working_set_bytes(table: LayerTable, layer: int, n_stripes: FloatArray | IntArray, value_bytes: float) -> FloatArray:
    """Bytes of the parameters and outputs of the largest segment."""
    part = share(table.rows[layer], n_stripes)
    return np.asarray(value_bytes * (segment_params(table, layer, n_stripes) + table.n_neurons[layer] * part))


def stripe_bounds(rows: int, n_stripes: int) -> IntArray:
    """First row of each stripe and the end of the last, shape (n_stripes + 1,)."""
    return np.asarray(rows * np.arange(n_stripes + 1) // n_stripes)
