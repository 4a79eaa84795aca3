"""What a campaign of a GPU looks like as CSV, and its tables turned into those of the data dictionary: seconds, names, sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError
from mlperf.datasets.dictionary.column import ALWAYS, Column, RowRule, TableSchema
from mlperf.datasets.dictionary.schema import LIBRARY_GEMMS, is_among
from mlperf.specs.kernels.kernels import KernelCall, kernel_calls
from mlperf.specs.network.cnn import CnnSpec

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


def _in_place(name: str, doc: str, kernels: Mapping[str, Any]) -> TableSchema:
    """The table of kernels of one form of a step."""
    kernel = Column("kernel", "text", "", "name there", choices=tuple(kernels))
    columns = (CNN, SUBBATCH, kernel, Column("layer", "integer", "", "l of Table 2", lower=1), MEDIAN, MINIMUM)
    return TableSchema(name, doc, columns, key=("cnn", "n_subbatch", "kernel", "layer"))


EXPLICIT = _in_place("cnn_explicit", "kernels of the explicit form, in place", EXPLICIT_KERNELS)
LIBRARY = _in_place("cnn_library", "library layers, in place", LIBRARY_KERNELS)

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


S_PER_MS = 1e-3
DECIMALS = 12
ONE_THREAD = 1
Calls = Mapping[tuple[str, str], KernelCall]


def sgemm_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Products: graph replays as busy time, the stream as elapsed time."""
    return pd.DataFrame(
        {
            **{name: table[name] for name in ("trans", "m", "n", "k")},
            "purpose": table["kind"].map(PURPOSES),
            "cpu_s": seconds(table["med_ms"]),
            "wall_s": seconds(table["stream_ms"]),
        }
    )


def kernel_rows(explicit: pd.DataFrame, library: pd.DataFrame, cnns: Mapping[str, CnnSpec], unit: str) -> pd.DataFrame:
    """Kernels of both forms; event pairs know one time only, which stands for both."""
    parts = (
        in_place(explicit, f"{unit}-explicit", cnns, explicit_kernel),
        in_place(library, f"{unit}-library", cnns, library_kernel),
    )
    return pd.concat(parts, ignore_index=True)


def in_place(
    table: pd.DataFrame,
    backend: str,
    cnns: Mapping[str, CnnSpec],
    translate: Callable[[CnnSpec, Calls, str, int], dict[str, Any]],
) -> pd.DataFrame:
    """Rows of one form of a step: each with the sizes that its network gives the kernel."""
    rows = []
    for (cnn, n_subbatch), part in table.groupby(["cnn", "n_subbatch"], sort=False):
        spec, subbatch_size = cnns[str(cnn)], int(str(n_subbatch))
        calls = {(call.kernel, call.layer): call for call in kernel_calls(spec, subbatch_size)}
        for kernel, layer, time_s in zip(part["kernel"], part["layer"], seconds(part["med_ms"]), strict=True):
            row = translate(spec, calls, kernel, int(layer))
            rows.append({"backend": backend, "cnn": cnn, "subbatch_size": subbatch_size, **row, "cpu_s": time_s, "wall_s": time_s})
    return pd.DataFrame(rows)


def explicit_kernel(cnn: CnnSpec, calls: Calls, kernel: str, layer: int) -> dict[str, Any]:
    """Name, layer and sizes of a kernel of the explicit form; ``layer`` counts from 1 as in Table 2 of Oyama et al."""
    name = EXPLICIT_KERNELS[kernel]
    number = layer + 1 if name in NUMBERED_BY_LAYER_BELOW else layer
    target = layer_name(cnn, name, number)
    return {"kernel": name, "layer": target, **sizes(_call_of(cnn, calls, name, target))}


def library_kernel(cnn: CnnSpec, calls: Calls, kernel: str, layer: int) -> dict[str, Any]:
    """Name, layer and sizes of a library layer: those of its forward product, or of the memory kernel that it stands for."""
    name, twin = LIBRARY_KERNELS[kernel]
    found = sizes(_call_of(cnn, calls, twin, layer_name(cnn, twin, layer)))
    if name not in LIBRARY_GEMMS:
        found = {**found, "m": 0, "n": 0, "k": 0, "trans": ""}
    return {"kernel": name, "layer": f"relu{layer}" if name.startswith("activation") else layer_name(cnn, twin, layer), **found}


def layer_name(cnn: CnnSpec, kernel: str, number: int) -> str:
    """The layer that a kernel numbered by Table 2 is credited to."""
    if kernel in ("pool", "unpool"):
        return f"pool{number}"
    names = cnn.sprint_form().layer_names
    return names[number - 1] if number <= len(names) else f"number {number}"


def _call_of(cnn: CnnSpec, calls: Calls, kernel: str, layer: str) -> KernelCall:
    """The call that a network makes; DataError: it makes none."""
    if (kernel, layer) not in calls:
        hint = "cnns.json and the tables of kernels belong to different runs."
        raise DataError(f"has no {kernel!r} on layer {layer!r}", place=f"network {cnn.name!r} of cnns.json", hint=hint)
    return calls[kernel, layer]


def sizes(call: KernelCall) -> dict[str, Any]:
    """Size columns of kernels.csv."""
    return {"m": call.m, "n": call.n, "k": call.k, "trans": call.trans, "access_bytes": call.access_bytes}


def step_rows(whole: pd.DataFrame, unit: str) -> pd.DataFrame:
    """Whole steps: time in the stream is the step's; the captured graph, where there is one, the device's busy time."""
    stream_s = seconds(whole["whole_stream_ms"])
    graph_s = seconds(whole["whole_graph_ms"])
    return pd.DataFrame(
        {
            "backend": unit + "-" + whole["impl"],
            "cnn": whole["cnn"],
            "subbatch_size": whole["n_subbatch"],
            "step_s": stream_s,
            "cpu_s": np.where(graph_s > 0, graph_s, stream_s),
            "wall_s": stream_s,
        }
    )


def update_rows(copies: pd.DataFrame) -> pd.DataFrame:
    """Memory operations of Algorithms 1 and 2, one host thread, pinned memory."""
    table = copies[copies["threads"] == ONE_THREAD]
    rows = [
        {"operation": operation, "n_params": n_params, "cpu_s": time_s, "wall_s": time_s}
        for op, n_params, time_s in zip(table["op"], table["n_param"], seconds(table["med_ms"]), strict=True)
        for operation in OPERATIONS.get(op, ())
    ]
    return pd.DataFrame(rows).assign(subbatch_size=0, input_size=0)


def seconds(times_ms: pd.Series[float]) -> pd.Series[float]:
    """Milliseconds as seconds, without digits that the source never had."""
    return (times_ms * S_PER_MS).round(DECIMALS)
