"""Layers as the KDD'15 model sees them: connections, parameters, and rows that a stripe may own."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.core.shown import Shown

FC, CONV, POOL, RECURRENT = KINDS = ("fc", "conv", "pool", "recurrent")
WHOLE = (FC, RECURRENT)
"""Kinds whose stripes are neurons with the parameters of their own, and which read all of the layer below."""


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
        ``fc``, ``conv``, ``pool`` or ``recurrent``.
    rows : array of int
        What stripes divide: the height of a map, or the neurons of a fully connected or recurrent layer.
    per : array
        Values of one row: width times maps; 1 of a fully connected layer, of a recurrent one the steps that are handed on.
    n_connections : array
        Multiply-adds of one sample, W.
    n_params : array
        Stored weights and biases; 0 of a pooling layer.
    kernel, stride, pad : array of int
        Of the rows; 1, 1, 0 of a fully connected layer.
    n_steps : array of int
        Of a recurrent layer, one after another; 0 of others. Left out: 0.
    n_state_connections : array
        Of ``n_connections`` those of a recurrent layer with itself; 0 of others. Left out: 0.
    n_functions : array
        Times that f is worked out for a value: the gates of a recurrent cell; 1 of others. Left out: 1.
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
    n_steps: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    n_state_connections: FloatArray = field(default_factory=lambda: np.zeros(0))
    n_functions: FloatArray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        if not self.kind:
            raise DataError("got no layer, expected at least one", place=f"network {self.name!r}")
        zero = np.zeros(self.n_layers)
        for name, usual in (("n_steps", zero.astype(np.int64)), ("n_state_connections", zero), ("n_functions", zero + 1.0)):
            if not len(getattr(self, name)):
                object.__setattr__(self, name, usual)
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
        """Layers of `WHOLE`, which read all of the layer below."""
        return np.array([kind in WHOLE for kind in self.kind])

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
    """Parameters of the largest segment: its part of a layer of `WHOLE`, all kernels of a convolution."""
    part = share(table.rows[layer], n_stripes) if table.kind[layer] in WHOLE else np.ones(np.shape(n_stripes))
    return np.asarray(table.n_params[layer] * part)


def working_set_bytes(table: LayerTable, layer: int, n_stripes: FloatArray | IntArray, value_bytes: float) -> FloatArray:
    """Bytes of the parameters and outputs of the largest segment."""
    part = share(table.rows[layer], n_stripes)
    return np.asarray(value_bytes * (segment_params(table, layer, n_stripes) + table.n_neurons[layer] * part))


def state_exchanges(table: LayerTable, layer: int, n_stripes: FloatArray | IntArray) -> tuple[FloatArray, FloatArray]:
    """What the stripes of a recurrent layer tell one another in either pass, for one sample: messages, and values read.

    Before each step but the first every stripe needs the states of all others, in the backward pass their error terms; nothing
    where there is one stripe, or no recurrence.
    """
    count = np.asarray(n_stripes, dtype=np.float64)
    messages = np.where(count > 1, max(int(table.n_steps[layer]) - 1, 0), 0).astype(np.float64)
    return messages, np.asarray(messages * (table.rows[layer] - table.rows[layer] // count))


def stripe_bounds(rows: int, n_stripes: int) -> IntArray:
    """First row of each stripe and the end of the last, shape (n_stripes + 1,)."""
    return np.asarray(rows * np.arange(n_stripes + 1) // n_stripes)
