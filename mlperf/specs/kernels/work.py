"""A kernel's work for one sample, before the sub-batch size is known."""

from __future__ import annotations

from dataclasses import dataclass

from mlperf.specs.network.shape import Shape

FLOAT_BYTES = 4
"""Single precision, as in SGEMM."""

GEMM_KERNELS = (
    "convolution",
    "fc",
    "dedw",
    "dedb",
    "dedx-fc",
    "dedx-conv",
    "transposed_convolution",
    "attention_in",
    "attention_scores",
    "attention_values",
    "attention_out",
    "dedw-attention_in",
    "dedw-attention_out",
    "dedx-attention_in",
    "dedx-attention_queries",
    "dedx-attention_keys",
    "dedx-attention_softmax",
    "dedx-attention_values",
    "dedx-attention_out",
    "recurrent_in",
    "recurrent_step",
    "dedw-recurrent_in",
    "dedw-recurrent_step",
    "dedx-recurrent_in",
    "dedx-recurrent_step",
)
"""Matrix products (corrected Table 2 of Oyama et al.), and those beyond the paper."""

MEMORY_KERNELS = (
    "im2col",
    "activation",
    "pool",
    "softmax",
    "unpool",
    "activation_gradient",
    "col2im",
    "batch_norm",
    "batch_norm_gradient",
    "add",
    "add_gradient",
    "concat",
    "concat_gradient",
    "average_pool",
    "average_unpool",
    "global_pool",
    "global_unpool",
)
"""Kernels bound by memory: a straight line in `access` each (eq. 5 of Oyama et al.), and those beyond the paper."""

_FURTHER = (
    "multiply",
    "layer_norm",
    "group_norm",
    "layer_scale",
    "layer_shift",
    "prelu",
    "class_token",
    "select_token",
    "position_embedding",
    "embedding",
    "resize_nearest",
    "resize_bilinear",
    "attention_softmax",
    "recurrent_gates",
)
FURTHER_KERNELS = (*_FURTHER, *(f"{name}_gradient" for name in _FURTHER), "attention_bias")
"""Kernels bound by memory that the measuring engine does not run: those of kinds of layers that only libraries run."""


@dataclass(frozen=True, slots=True)
class Work:
    """One kernel for one sample: fields as in `KernelCall`, ``access`` in elements, and which size the sub-batch stretches."""

    kernel: str
    layer: str
    m: int = 0
    n: int = 0
    k: int = 0
    trans: str = ""
    stretched: str = ""
    groups: int = 1
    access: int = 0
    maps_in: int = 0
    maps_out: int = 0
    map_size: int = 1
    row_size: int = 1
    window: int = 1


def memory_work(kernel: str, layer: str, access: int, maps: tuple[int, int], shape: Shape, window: int = 1) -> Work:
    """A memory-bound kernel over the maps of ``shape``; ``maps`` are the channels read and written."""
    return Work(
        kernel,
        layer,
        access=access,
        maps_in=maps[0],
        maps_out=maps[1],
        map_size=shape.map_size,
        row_size=shape.width,
        window=window,
    )


def pass_work(kernel: str, layer: str, access: int, shape: Shape, window: int = 1) -> Work:
    """A memory-bound kernel that reads and writes the maps of ``shape``."""
    return memory_work(kernel, layer, access, (shape.n_maps, shape.n_maps), shape, window)
