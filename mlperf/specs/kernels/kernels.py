"""The master list: every kernel that one training step runs, in the order in which it runs, with its sizes.

A step is the forward pass, softmax with loss, and the backward pass of one sub-batch, in the formulation of Oyama et al.:
explicit im2col and one SGEMM per convolution (section "SGEMM", corrected Table 2), memory-bound kernels for the rest (eq. 5).

Rules that the list follows:

- A bias is added by an ``activation`` call credited to the ``conv`` or ``fc`` layer. Where an activation layer is the only
  reader, that one call applies the function too; otherwise the function is the identity. An activation layer without such a
  partner has calls of its own. ``activation_gradient`` likewise, and only where a function other than the identity was applied.
- ``dropout`` is element-wise as well: an ``activation`` and an ``activation_gradient`` call credited to the dropout layer.
- A 1 x 1 convolution with stride 1 and no padding runs im2col and col2im too; there they are plain copies.
- A transposed convolution is a product into columns and a ``col2im``; its way back ``im2col``, ``dedw`` and ``dedx-conv``.
- Attention is a product with the weights of queries, keys and values, one product of queries with keys and one of probabilities
  with values for each head and sample, a softmax between them, and a product with the weights of the output.
- ``flatten``, ``tokens`` and a fully connected layer that reads maps only reshape. Softmax runs once, on the network's output.
- No gradient is computed for what depends on no learnt parameter: the first layer has neither dedx nor col2im.
- A layer's output that several layers read gets the sum of their gradients: ``add_gradient``, credited to its producer.
- ``layer`` is the layer whose weights or function the kernel works with. Table 2 numbers dedx and col2im by the layer below,
  which receives the gradient: its l is this layer's number minus one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from mlperf.core.errors import DataError
from mlperf.specs import data_types as types
from mlperf.specs.data_types import SINGLE
from mlperf.specs.kernels.backward import backward_work
from mlperf.specs.kernels.forward import forward_work
from mlperf.specs.kernels.work import FLOAT_BYTES, FURTHER_KERNELS, GEMM_KERNELS, MEMORY_KERNELS, Work
from mlperf.specs.network.cnn import CnnSpec

__all__ = [
    "FLOAT_BYTES",
    "FURTHER_KERNELS",
    "GEMM_KERNELS",
    "MEMORY_KERNELS",
    "KernelCall",
    "bytes_moved",
    "gemm_flops",
    "kernel_calls",
]


@dataclass(frozen=True, slots=True)
class KernelCall:
    """One call of one kernel for one sub-batch.

    Attributes
    ----------
    kernel : str
        One of `MEMORY_KERNELS`, `FURTHER_KERNELS` or `GEMM_KERNELS`.
    layer : str
        The layer it is credited to; (kernel, layer) is unique in a network.
    m, n, k : int
        C(m, n) = A(m, k) B(k, n) in row-major order; 0 for a memory-bound kernel.
    trans : str
        Whether A and B are transposed: "NN", "TN" or "NT"; "" for a memory-bound kernel.
    groups : int
        Products of this size in the one call (grouped convolution; heads times samples in attention), else 1.
    access_bytes : int
        Bytes of a number x access order x sub-batch size for a memory-bound kernel, 0 for a product.
    subbatch_size : int
        Samples.
    maps_in, maps_out : int
        Channels read and written, side by side in memory; im2col writes c^2 m_{l-1} of them.
    map_size : int
        Elements of one map before pooling, x'^2; 1 after a fully connected layer.
    row_size : int
        Width of that map, x'.
    window : int
        c^2 for im2col and col2im, p^2 for pools, else 1.
    """

    kernel: str
    layer: str
    m: int
    n: int
    k: int
    trans: str
    groups: int
    access_bytes: int
    subbatch_size: int
    maps_in: int
    maps_out: int
    map_size: int
    row_size: int
    window: int

    @property
    def n_flops(self) -> int:
        """2 m n k for every product, 0 for a memory-bound kernel."""
        return 2 * self.m * self.n * self.k * self.groups

    @property
    def moved_bytes(self) -> int:
        """Bytes read and written at least once: the three matrices of a product in single precision, else `access_bytes`."""
        matrices = self.m * self.k + self.k * self.n + self.m * self.n
        return self.access_bytes + FLOAT_BYTES * matrices * self.groups


def kernel_calls(cnn: CnnSpec, subbatch_size: int, data_type: str = SINGLE) -> tuple[KernelCall, ...]:
    """All kernels of one training step on ``subbatch_size`` samples, in execution order; ``access_bytes`` in the data type.

    Raises
    ------
    DataError
        ``subbatch_size`` is not a whole number >= 1, the data type is unknown, or a softmax layer stands before the end of the
        network.
    """
    size, number_bytes = checked_subbatch(subbatch_size), types.data_type(data_type).number_bytes
    return _calls(cnn, size, number_bytes)


def checked_subbatch(subbatch_size: int) -> int:
    """Return ``subbatch_size`` if it is a whole number >= 1.

    Raises
    ------
    DataError
        It is not a whole number >= 1.
    """
    if int(subbatch_size) != subbatch_size or subbatch_size < 1:
        raise DataError(
            f"got {subbatch_size}, expected a whole number >= 1",
            place="subbatch_size",
            hint="It counts samples in a GPU iteration.",
        )
    return int(subbatch_size)


def bytes_moved(cnn: CnnSpec, subbatch_size: int, data_type: str = SINGLE) -> int:
    """Bytes that one training step reads and writes at least: `KernelCall.moved_bytes` summed, in the data type."""
    number_bytes = types.data_type(data_type).number_bytes
    return sum(call.moved_bytes for call in kernel_calls(cnn, subbatch_size)) // FLOAT_BYTES * number_bytes


def gemm_flops(cnn: CnnSpec, subbatch_size: int) -> int:
    """Floating-point operations of all matrix products of one training step, bias gradients included."""
    return sum(call.n_flops for call in kernel_calls(cnn, subbatch_size))


# Campaigns of hundreds of steps are described when they are read, trained on and compared.
@lru_cache(maxsize=1024)
def _calls(cnn: CnnSpec, subbatch_size: int, number_bytes: int) -> tuple[KernelCall, ...]:
    return tuple(scaled(work, subbatch_size, number_bytes) for work in _step(cnn))


@lru_cache(maxsize=256)
def _step(cnn: CnnSpec) -> tuple[Work, ...]:
    return tuple(_passes(cnn))


def _passes(cnn: CnnSpec) -> Iterator[Work]:
    yield from forward_work(cnn)
    yield from backward_work(cnn)


def scaled(work: Work, subbatch_size: int, number_bytes: int = FLOAT_BYTES) -> KernelCall:
    """The call: the sub-batch stretches the rows of forward products and dedx, and the inner dimension of weight gradients.

    Products without weights, as attention has, become more instead of larger.
    """
    b = subbatch_size
    return KernelCall(
        kernel=work.kernel,
        layer=work.layer,
        m=work.m * b if work.stretched == "m" else work.m,
        n=work.n,
        k=work.k * b if work.stretched == "k" else work.k,
        trans=work.trans,
        groups=work.groups * b if work.stretched == "groups" else work.groups,
        access_bytes=number_bytes * work.access * b,
        subbatch_size=b,
        maps_in=work.maps_in,
        maps_out=work.maps_out,
        map_size=work.map_size,
        row_size=work.row_size,
        window=work.window,
    )
