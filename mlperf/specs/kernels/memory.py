"""Device memory that training needs, from the specification alone."""

from __future__ import annotations

from dataclasses import dataclass

from mlperf.core.shown import Shown
from mlperf.specs import data_types as types
from mlperf.specs.data_types import SINGLE
from mlperf.specs.kernels.fusion import fusion
from mlperf.specs.kernels.kernels import kernel_calls
from mlperf.specs.kernels.work import FLOAT_BYTES
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.counts import score_size
from mlperf.specs.network.layer import CELLS, RESHAPES

_INDEX_BYTES = 4


@dataclass(frozen=True, slots=True)
class MemoryEstimate(Shown):
    """Bytes on one device for one sub-batch, without the libraries' own.

    Attributes
    ----------
    weights_bytes : int
        The weights, as layers read them.
    gradients_bytes : int
        The weights' gradient, and the update value made from it in single precision (Algorithm 1 of Oyama et al.).
    activations_bytes : int
        Input and every output that the backward pass reads, with the positions that max pooling remembers.
    activation_gradients_bytes : int
        The two largest outputs once more: a layer's gradient on either side.
    columns_bytes : int
        Every im2col matrix, kept for the weight gradients, and the largest one again for the gradient that col2im folds.
    master_weights_bytes : int
        The weights once more in single precision, where layers read them in a shorter format.
    """

    weights_bytes: int
    gradients_bytes: int
    activations_bytes: int
    activation_gradients_bytes: int
    columns_bytes: int
    master_weights_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        """The sum of the parts."""
        per_sample = self.activations_bytes + self.activation_gradients_bytes + self.columns_bytes
        return self.weights_bytes + self.master_weights_bytes + self.gradients_bytes + per_sample


def training_memory(cnn: CnnSpec, subbatch_size: int, data_type: str = SINGLE) -> MemoryEstimate:
    """Memory that one GPU thread needs to train ``cnn`` on ``subbatch_size`` samples at a time.

    Raises
    ------
    DataError
        Unknown data type.
    """
    numbers = types.data_type(data_type)
    weights = numbers.number_bytes * cnn.n_params
    outputs = [numbers.number_bytes * size for size in _kept_sizes(cnn)]
    inside = numbers.number_bytes * sum(_kept_inside(cnn))
    columns = [call.access_bytes for call in kernel_calls(cnn, 1, data_type) if call.kernel == "im2col"]
    return MemoryEstimate(
        weights_bytes=weights,
        gradients_bytes=weights + FLOAT_BYTES * cnn.n_params,
        activations_bytes=subbatch_size * (sum(outputs) + inside + _INDEX_BYTES * _n_pooled(cnn)),
        activation_gradients_bytes=subbatch_size * sum(sorted(outputs)[-2:]),
        columns_bytes=subbatch_size * (sum(columns) + max(columns, default=0)),
        master_weights_bytes=numbers.master_bytes * cnn.n_params,
    )


def max_subbatch_size(cnn: CnnSpec, device_memory_bytes: float, data_type: str = SINGLE) -> int:
    """The largest sub-batch whose `training_memory` fits; 0 where not even one sample does."""
    one, two = (training_memory(cnn, size, data_type).total_bytes for size in (1, 2))
    return max(0, int((device_memory_bytes - (2 * one - two)) // (two - one)))


def _kept_sizes(cnn: CnnSpec) -> list[int]:
    """Elements of every output that is stored: a fused activation works in place, reshapes are views."""
    in_place = set(fusion(cnn).absorbed) | {layer.name for layer in cnn.layers if layer.kind in RESHAPES}
    return [shape.size for name, shape in cnn.shapes.items() if name not in in_place]


def _kept_inside(cnn: CnnSpec) -> list[int]:
    """Elements kept between the products of a layer.

    Of attention queries, keys, values, what the heads found, and probabilities, of its products alone the last; of a recurrent
    layer its gates, and the states of its cells, at every step.
    """
    layers = [(layer.n_heads, cnn.shapes[layer.name]) for layer in cnn.layers if layer.kind == "attention"]
    recurrent = [(CELLS[layer.cell], cnn.shapes[layer.name]) for layer in cnn.layers if layer.kind == "recurrent"]
    inside = [(n_gates + (n_gates == CELLS["lstm"])) * shape.size for n_gates, shape in recurrent]
    attending = [score_size(layer, cnn.input_shapes(layer.name)) for layer in cnn.layers if layer.kind == "attend"]
    return [*attending, *(4 * shape.size + n_heads * shape.map_size**2 for n_heads, shape in layers), *inside]


def _n_pooled(cnn: CnnSpec) -> int:
    return sum(cnn.shapes[layer.name].size for layer in cnn.layers if layer.kind == "pool" and layer.mode == "max")
