"""The files that a GPU campaign writes: their columns in milliseconds, and what their names are called here."""

from __future__ import annotations

from mlperf.datasets.dictionary.column import ALWAYS, Column, RowRule, TableSchema
from mlperf.datasets.dictionary.schema import is_among

LIBRARY_WHOLE = RowRule("library layers", lambda cells: is_among("impl", ("library",), cells), ("impl",))

MEDIAN = Column("med_ms", "number", "ms", "median of the repeats on the spot")
MINIMUM = Column("min_ms", "number", "ms", "smallest of the repeats", zero_when=ALWAYS)
CNN = Column("cnn", "text", "", "network of cnns.json")
SUBBATCH = Column("n_subbatch", "integer", "", "samples", lower=1)

EXPLICIT_KERNELS = {
    "im2col": "im2col",
    "convolution": "convolution",
    "bias_relu": "activation",
    "pooling": "pool",
    "fc": "fc",
    "softmax": "softmax",
    "dpooling": "unpool",
    "drelu": "activation_gradient",
    "dedw": "dedw",
    "dedb": "dedb",
    "dedx-fc": "dedx-fc",
    "dedx-conv": "dedx-conv",
    "col2im": "col2im",
}
NUMBERED_BY_LAYER_BELOW = ("dedx-fc", "dedx-conv", "col2im")

LIBRARY_KERNELS = {
    "conv_fwd": ("conv_forward", "convolution"),
    "fc_fwd": ("fc_forward", "fc"),
    "relu_fwd": ("activation_forward", "activation"),
    "pool_fwd": ("pool_forward", "pool"),
    "softmax": ("softmax", "softmax"),
    "conv_bwd": ("conv_backward", "convolution"),
    "fc_bwd": ("fc_backward", "fc"),
    "relu_bwd": ("activation_backward", "activation_gradient"),
    "pool_bwd": ("pool_backward", "unpool"),
}
"""Name there: name here, and the kernel of the explicit form whose sizes stand for it."""

OPERATIONS = {
    "h2d_pinned": ("fetch_weights",),
    "scale_dev": ("compute_update_value",),
    "d2h_pinned": ("update_gradient",),
    "host_add": ("sum_gradient",),
    "host_copy": ("update_old_weights", "update_weights"),
    "host_momentum": ("add_momentum",),
    "host_sub": ("update_momentum",),
}
"""Operation there, on one thread: components of Algorithms 1 and 2 that do this (update_gradient without its addition)."""

PURPOSES = {"grid": "grid", "half": "grid", "val": "validation"}
OTHER_OPERATIONS = ("h2d", "d2h")

SGEMM = TableSchema(
    "sgemm",
    "isolated products",
    (
        Column("kind", "text", "", "grid, val or half", choices=tuple(PURPOSES)),
        Column("trans", "text", "", "transposed factors", choices=("NN", "TN", "NT")),
        *(Column(name, "integer", "", "size", lower=1) for name in ("m", "n", "k")),
        MEDIAN,
        MINIMUM,
        Column("stream_ms", "number", "ms", "time in the stream, launches included"),
    ),
    key=("trans", "m", "n", "k"),
)

EXPLICIT = TableSchema(
    "cnn_explicit",
    "kernels of the explicit form, in place",
    (
        CNN,
        SUBBATCH,
        Column("kernel", "text", "", "name there", choices=tuple(EXPLICIT_KERNELS)),
        Column("layer", "integer", "", "l of Table 2", lower=1),
        MEDIAN,
        MINIMUM,
    ),
    key=("cnn", "n_subbatch", "kernel", "layer"),
)

LIBRARY = TableSchema(
    "cnn_library",
    "library layers, in place",
    (
        CNN,
        SUBBATCH,
        Column("kernel", "text", "", "name there", choices=tuple(LIBRARY_KERNELS)),
        Column("layer", "integer", "", "l", lower=1),
        MEDIAN,
        MINIMUM,
    ),
    key=("cnn", "n_subbatch", "kernel", "layer"),
)

WHOLE = TableSchema(
    "cnn_whole",
    "whole steps",
    (
        Column("impl", "text", "", "explicit or library", choices=("explicit", "library")),
        CNN,
        SUBBATCH,
        Column("whole_stream_ms", "number", "ms", "a step in the stream"),
        Column("whole_graph_ms", "number", "ms", "a step as a captured graph", absent_when=LIBRARY_WHOLE),
        Column("sum_ms", "number", "ms", "sum of its kernels' medians"),
        Column("host_ms", "number", "ms", "time to enqueue a step", zero_when=ALWAYS),
    ),
    key=("impl", "cnn", "n_subbatch"),
)

COPIES = TableSchema(
    "copies_host",
    "copies and vector operations",
    (
        Column("op", "text", "", "name there", choices=(*OPERATIONS, *OTHER_OPERATIONS)),
        Column("n_param", "integer", "", "length of the vector", lower=1),
        Column("threads", "integer", "", "host threads", lower=1),
        MEDIAN,
        MINIMUM,
    ),
    key=("op", "n_param", "threads"),
)

FILES = (SGEMM, EXPLICIT, LIBRARY, WHOLE, COPIES)
