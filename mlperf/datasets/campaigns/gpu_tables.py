"""Tables of a GPU campaign turned into those of the data dictionary: seconds, names, sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError
from mlperf.datasets.campaigns.gpu_format import EXPLICIT_KERNELS, LIBRARY_KERNELS, NUMBERED_BY_LAYER_BELOW, OPERATIONS, PURPOSES
from mlperf.datasets.dictionary.schema import LIBRARY_GEMMS
from mlperf.specs.kernels.kernels import KernelCall, kernel_calls
from mlperf.specs.network.cnn import CnnSpec

S_PER_MS = 1e-3
DECIMALS = 12
ONE_THREAD = 1
Calls = Mapping[tuple[str, str], KernelCall]


def sgemm_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Products: graph replays as busy time, the stream as elapsed time."""
    return pd.DataFrame(
        {
            "trans": table["trans"],
            "m": table["m"],
            "n": table["n"],
            "k": table["k"],
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
    return {"kernel": name, "layer": target, **sizes(call_of(cnn, calls, name, target))}


def library_kernel(cnn: CnnSpec, calls: Calls, kernel: str, layer: int) -> dict[str, Any]:
    """Name, layer and sizes of a library layer: those of its forward product, or of the memory kernel that it stands for."""
    name, twin = LIBRARY_KERNELS[kernel]
    found = sizes(call_of(cnn, calls, twin, layer_name(cnn, twin, layer)))
    if name not in LIBRARY_GEMMS:
        found = {**found, "m": 0, "n": 0, "k": 0, "trans": ""}
    return {"kernel": name, "layer": f"relu{layer}" if name.startswith("activation") else layer_name(cnn, twin, layer), **found}


def layer_name(cnn: CnnSpec, kernel: str, number: int) -> str:
    """The layer that a kernel numbered by Table 2 is credited to."""
    if kernel in ("pool", "unpool"):
        return f"pool{number}"
    names = cnn.sprint_form().layer_names
    return names[number - 1] if number <= len(names) else f"number {number}"


def call_of(cnn: CnnSpec, calls: Calls, kernel: str, layer: str) -> KernelCall:
    """The call that a network makes.

    Raises
    ------
    DataError
        It makes none.
    """
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
