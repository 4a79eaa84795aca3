"""The growing plan of one training step: buffers, parameters and the operations that fill them, in execution order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mlperf.specs.kernels.fusion import Fusion
from mlperf.specs.network.cnn import CnnSpec, Layer

Array: TypeAlias = NDArray[Any]

# Weights repeat one block of random draws: drawing 138 million of them in each visit would outlast the measurement.
RANDOM_BLOCK = 2**16 + 1


@dataclass(frozen=True, slots=True)
class Operation:
    """One kernel call: its name, the layer it is credited to, and what to run."""

    kernel: str
    layer: str
    run: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Gemm:
    """Matrix products C(m, n) = A(m, k) B(k, n) of one call; ``trans`` holds the flags of A and B."""

    kernel: str
    layer: str
    m: int
    n: int
    k: int
    trans: str
    groups: int


@dataclass(frozen=True, slots=True, eq=False)
class Contribution:
    """Gradient that one reader sends to a layer; ``exclusive`` where no other layer reads the same memory."""

    array: Array
    exclusive: bool


@dataclass(slots=True, eq=False)
class Builder:
    """Buffers and operations of one CNN at one sub-batch size, while they are laid out.

    Maps are arrays (subbatch_size, height, width, n_maps): channels last, so that a map is also SPRINT's matrix of x'**2 b rows.

    Parameters
    ----------
    cnn : CnnSpec
        The network.
    subbatch_size : int
        Samples.
    dtype : numpy dtype
        float32 for timing, float64 for checks by finite differences.
    rng : numpy Generator
        Draws images, labels, parameters and dropout masks.
    fused : Fusion
        Which activation runs inside which layer's bias pass.
    """

    cnn: CnnSpec
    subbatch_size: int
    dtype: np.dtype[Any]
    rng: np.random.Generator
    fused: Fusion
    operations: list[Operation] = field(default_factory=list)
    gemms: list[Gemm] = field(default_factory=list)
    values: dict[str, Array] = field(default_factory=dict)
    parameters: dict[str, dict[str, Array]] = field(default_factory=dict)
    gradients: dict[str, dict[str, Array]] = field(default_factory=dict)
    saved: dict[str, dict[str, Array]] = field(default_factory=dict)
    loss: Array = field(default_factory=lambda: np.zeros(1))
    labels: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _sent: dict[str, list[Contribution]] = field(default_factory=dict)
    _spread: Array | None = None

    def source(self, layer: Layer) -> Array:
        """Value of the one layer that ``layer`` reads."""
        return self.values[self.cnn.sources[layer.name][0]]

    def new_value(self, layer: Layer) -> Array:
        """A new output buffer of the shape the specification gives."""
        shape = self.cnn.shapes[layer.name]
        self.values[layer.name] = self.empty((self.subbatch_size, shape.height, shape.width, shape.n_maps))
        return self.values[layer.name]

    def empty(self, shape: tuple[int, ...]) -> Array:
        """An uninitialised buffer of the step's type."""
        return np.empty(shape, dtype=self.dtype)

    def spread(self, shape: tuple[int, ...]) -> Array:
        """Room for gradients in columns, which live only from dedx-conv to col2im: one block serves all layers."""
        size = int(np.prod(shape))
        if self._spread is None:
            self._spread = self.empty((max(columns["columns"].size for columns in self.saved.values() if "columns" in columns),))
        return self._spread[:size].reshape(shape)

    def parameter(self, layer: Layer, name: str, shape: tuple[int, ...], scale: float, centre: float = 0.0) -> Array:
        """Random parameters of a layer, and a buffer for their gradient."""
        size = int(np.prod(shape))
        draws = self.rng.standard_normal(min(size, RANDOM_BLOCK)) * scale + centre
        values = np.resize(draws.astype(self.dtype), size).reshape(shape)
        self.parameters.setdefault(layer.name, {})[name] = values
        self.gradients.setdefault(layer.name, {})[name] = self.empty(shape)
        return values

    def save(self, layer: Layer, name: str, array: Array) -> Array:
        """Keep an array of the forward pass for the backward pass."""
        self.saved.setdefault(layer.name, {})[name] = array
        return array

    def emit(self, kernel: str, layer: str, run: Callable[[], object]) -> None:
        """Append one kernel call."""
        self.operations.append(Operation(kernel, layer, run))

    def send(self, name: str, gradient: Array, *, exclusive: bool) -> None:
        """Hand layer ``name`` the gradient that one of its readers computed, as it stands."""
        self._sent.setdefault(name, []).append(Contribution(gradient.reshape(self.values[name].shape), exclusive))

    def new_gradient(self, name: str) -> Array:
        """A new buffer in which a reader of layer ``name`` writes its gradient."""
        buffer = np.empty_like(self.values[name])
        self.send(name, buffer, exclusive=True)
        return buffer

    def received(self, name: str) -> Contribution:
        """Gradient of the loss by the output of layer ``name``; lays out ``add_gradient`` where several layers read it."""
        sent = self._sent[name]
        if len(sent) == 1:
            return sent[0]
        total = np.empty_like(self.values[name])
        first, second, *others = [each.array for each in sent]

        def run() -> None:
            np.add(first, second, out=total)
            for other in others:
                np.add(total, other, out=total)

        self.emit("add_gradient", name, run)
        return Contribution(total, exclusive=True)
