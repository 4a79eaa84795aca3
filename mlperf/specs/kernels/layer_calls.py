"""What one training step runs where a library computes whole layers: one call a layer and direction.

Rules that the list follows, beside those of `mlperf.specs.kernels.kernels`:

- A convolution or fully connected layer is one call forward, its bias included, and one backward: gradients of weights, bias
  and, where some layer below learns, of the input. Both carry the sizes of the forward product (after im2col).
- A recurrent layer is named by its cell: libraries run each by other code.
- An activation layer has calls of its own, unless its function is the identity.
- Attention is one call with the rows and columns of its first product, and so many more columns of weights that m n k is right.
- ``flatten``, ``tokens`` and ``unflatten``, and the way back through ``add`` and ``concat``, only look at the same memory in
  another way: no call.
- Softmax, loss and the loss gradient are one call, ``softmax``, on the network's output.
- ``add_gradient`` sums one gradient from every reader, parts of maps included: each part's is whole, with zeros beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from mlperf.specs.kernels.forward import layer_work, softmax_work
from mlperf.specs.kernels.kernels import KernelCall, checked_subbatch, scaled
from mlperf.specs.kernels.work import Work, memory_work
from mlperf.specs.network.cnn import CnnSpec
from mlperf.specs.network.layer import LAYER_KINDS, RESHAPES, Layer

VIEWS = (*RESHAPES, "softmax")
"""Kinds that hand on the same memory; softmax runs with the loss."""

RUNS_BACKWARD = tuple(kind for kind in LAYER_KINDS if kind not in (*VIEWS, "add", "concat"))
"""Kinds whose way back computes something."""


def library_calls(cnn: CnnSpec, subbatch_size: int) -> tuple[KernelCall, ...]:
    """All library calls of one training step on ``subbatch_size`` samples, in execution order.

    Raises
    ------
    DataError
        ``subbatch_size`` is not a whole number >= 1, or a softmax layer stands before the end of the network.
    """
    size = checked_subbatch(subbatch_size)
    return tuple(scaled(work, size) for work in _step(cnn))


def library_name(layer: Layer) -> str:
    """What its calls are named by: ``name_forward`` and ``name_backward``."""
    return layer.cell if layer.kind == "recurrent" else layer.kind


def runs(layer: Layer) -> bool:
    """Whether a library computes anything for this layer."""
    return layer.kind not in VIEWS and not (layer.kind == "activation" and layer.function == "identity")


@lru_cache(maxsize=256)
def _step(cnn: CnnSpec) -> tuple[Work, ...]:
    return tuple(_passes(cnn))


def _passes(cnn: CnnSpec) -> Iterator[Work]:
    forward = {layer.name: _forward(cnn, layer) for layer in cnn.layers if runs(layer)}
    yield from forward.values()
    yield softmax_work(cnn)
    needed, consumers = cnn.needs_gradient, cnn.consumers
    for layer in reversed(cnn.layers):
        if not needed[layer.name]:
            continue
        target, readers = cnn.shapes[layer.name], len(consumers[layer.name])
        if readers > 1:
            maps = (readers * target.n_maps, target.n_maps)
            yield memory_work("add_gradient", layer.name, target.size * (readers - 1), maps, target)
        if layer.name in forward and layer.kind in RUNS_BACKWARD:
            yield replace(forward[layer.name], kernel=f"{library_name(layer)}_backward")


def _forward(cnn: CnnSpec, layer: Layer) -> Work:
    target = cnn.shapes[layer.name]
    element_wise = memory_work("", layer.name, target.size, (target.n_maps, target.n_maps), target)
    works = tuple(layer_work(cnn, layer)) or (element_wise,)
    return replace(_whole(works), kernel=f"{library_name(layer)}_forward")


def _whole(works: Sequence[Work]) -> Work:
    """One call for all: the only kernel or product; several products as one of the first's rows and columns with all the work."""
    products = [work for work in works if work.m]
    if len(products) < 2:
        return (products or works)[-1]
    first = products[0]
    n_macs = sum(work.m * work.n * work.k * work.groups for work in products)
    return replace(first, n=n_macs // (first.m * first.k * first.groups), maps_out=products[-1].maps_out)
