"""The open data that accuracy is studied on, read in place from the folder that ``MLPERF_SHARED_DATA`` names.

No row of them ships. Whose they are, how they were measured and under which licence stands in the README of each folder.
Columns keep the source's names but for those below; every ``*_ms`` and ``*_us`` becomes ``*_s`` first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError, UsageError
from mlperf.core.suggest import nearest_hint
from mlperf.datasets.reading.any_table import read_typed_table
from mlperf.datasets.reading.folder import SUFFIXES


@dataclass(frozen=True, slots=True)
class OpenTable:
    """One file of the open data.

    Attributes
    ----------
    name : str
        File name without ``.csv`` or ``.csv.gz``.
    doc : str
        What a row is.
    renamed : Mapping[str, str]
        Name there, times already in seconds: name here.
    """

    name: str
    doc: str
    renamed: Mapping[str, str] = field(default_factory=dict)


LATENCY = {"latency_s": "time_s"}
MAPS = {"in_channels": "maps_in", "out_channels": "maps_out", "channels_in": "maps_in", "channels_out": "maps_out"}
BATCH = {"batch": "subbatch_size", "batch_size": "subbatch_size", "batch_per_gpu": "subbatch_size"}
CONVOLUTION = {**MAPS, **BATCH, "kernel_size": "filter_size", "kernel": "filter_size", "num_output": "maps_out"}
MESSAGE = {"message_bytes": "size_bytes"}
NETWORK = {"network": "cnn", "net": "cnn", "model": "cnn"}
TUNED = {"time_s_mean": "time_mean_s", "time_s_median": "time_median_s", "time_s_sd": "time_std_s", "time_s_min": "time_min_s"}

OPEN_DATA: dict[str, tuple[OpenTable, ...]] = {
    "neusight": (
        OpenTable("linear", "y = x W^T on four GPUs: m, n, k, time_s", LATENCY),
        OpenTable("bmm", "batched product on four GPUs: batch, m, n, k, time_s", LATENCY),
        OpenTable("conv", "3 x 3 convolution forward on four GPUs", {**LATENCY, **CONVOLUTION}),
        OpenTable("vector_ops", "vector operators on rows x columns", {**LATENCY, "op": "operation"}),
        OpenTable("devices", "data-sheet values of the devices"),
    ),
    "mlpredict_cdec": (
        OpenTable("convolution", "one random convolution layer, forward or training step; time_median_s", CONVOLUTION),
        OpenTable("dense", "one random fully connected layer, forward or training step; time_median_s", BATCH),
    ),
    "deepbench": (
        OpenTable("gemm", "one product: m, n, k, trans (added: trans_a and trans_b), time_s"),
        OpenTable(
            "conv", "one convolution: forward_s, backward_inputs_s (missing for first layers), backward_params_s", CONVOLUTION
        ),
        OpenTable(
            "allreduce", "one all-reduce: n_ranks, size_bytes (added), time_s", {"time_mean_s": "time_s", "time_sd_s": "time_std_s"}
        ),
        OpenTable("specs", "processor, driver and library versions as submitted"),
    ),
    "convnet_benchmarks": (
        OpenTable(
            "caffe_layer_geometry",
            "one layer of three networks, im2col + SGEMM; added: subbatch_size, maps_in, size_in, maps_out, size_out",
            {**NETWORK, "kernel": "filter_size"},
        ),
        OpenTable("caffe_layers", "one layer and pass: time_s", NETWORK),
        OpenTable("caffe_totals", "whole networks: time_s by library and pass", NETWORK),
        OpenTable("torch_imagenet_winners", "whole-network operators of other libraries: time_s", {**NETWORK, "op": "operation"}),
        OpenTable("torch_single_convolutions", "five single convolutions: time_s", {**MAPS, **BATCH, "op": "operation"}),
    ),
    "cnn_benchmarks": (
        OpenTable("forward_backward", "whole networks: forward_mean_s, backward_mean_s and their spread", {**NETWORK, **BATCH}),
    ),
    "mxnet_perf": (
        OpenTable("throughput_vs_batch", "step_s against subbatch_size, training and inference", {**NETWORK, **BATCH}),
        OpenTable("scaling", "AlexNet on 1 to 256 GPUs: images_per_s, step_s (added)", {**NETWORK, **BATCH, "n_gpu": "n_gpus"}),
    ),
    "tf_benchmarks": (
        OpenTable(
            "throughput", "five networks on 1 to 8 GPUs: images_per_s, step_s (added)", {**NETWORK, **BATCH, "n_gpu": "n_gpus"}
        ),
    ),
    "cmdare": (
        OpenTable("cluster_speed", "asynchronous training with one server: steps_per_s by n_workers", NETWORK),
        OpenTable("cluster_speed_series", "the readings behind cluster_speed", NETWORK),
        OpenTable("single_worker", "20 CNNs on one worker: n_flops, n_params, n_tensors, step_time_s", NETWORK),
        OpenTable("checkpoints", "checkpoint sizes and times", NETWORK),
    ),
    "mlperf_results": (
        OpenTable("resnet_systems", "one system: n_nodes, n_accelerators, global_batch_size, epoch_s"),
        OpenTable("resnet_runs", "one training run: run_s, init_s"),
        OpenTable("resnet_epochs", "one epoch of one run: time_s"),
    ),
    "simumax": (
        OpenTable("a100_pcie", "one layout of a language model: signed errors of a simulator, percent of the measured value"),
    ),
    "vtrain": (
        OpenTable("single_node", "one GPT iteration on one machine: iteration_s"),
        OpenTable("multi_node", "one GPT iteration on 64 to 512 GPUs: iteration_s"),
    ),
    "mpt_fsdp": (OpenTable("runs", "one fully sharded run of a language model on 8 to 128 GPUs: tokens_per_s"),),
    "ultrascale": (OpenTable("layouts", "one layout of a language model on 1 to 64 machines: status, tokens_per_s, memory_gb"),),
    "kernel_tuning_gemm": (OpenTable("gemm", "one tuning configuration of one SGEMM kernel: time_median_s", TUNED),),
    "simd_tensor": (
        OpenTable("measurements", "one tensor-contraction kernel: five times, instruction counts"),
        OpenTable("cachegrind_gcc_O2_sse3_fast_N50", "simulated cache misses of the kernels at N = 50"),
        OpenTable("cachegrind_other_sizes", "simulated cache misses at other sizes and caches"),
        OpenTable("llvm_mca19_gcc_O2_sse3_fast_N100", "static throughput estimates: mca_s"),
    ),
    "aiconfigurator": (
        OpenTable("nccl", "one collective inside a machine: device, operation, dtype, n_gpus, size_bytes, run, time_s", MESSAGE),
    ),
    "echo_nccl": (OpenTable("all_reduce", "one all-reduce on 1 to 64 GPUs: n_gpus, size_bytes, time_s, in_place_s", MESSAGE),),
    "dwc_online": (
        OpenTable("dwc_rates", "counters per second beside performance; w_run_ns and w_wait_ns are nanoseconds a second"),
        OpenTable("raw_counters", "the cumulative counters, phased programme; w_run_ns and w_wait_ns in nanoseconds"),
        OpenTable("raw_counters_fixed", "the cumulative counters, fixed programme"),
    ),
}


VARIABLE = "MLPERF_SHARED_DATA"
FLOAT_BYTES = 4
TIME_COLUMN = re.compile(r"(?P<stem>.+)_(?P<unit>ms|us)(?P<rest>_.+)?")
TIME_UNITS = {"ms": 1e-3, "us": 1e-6}
LABELS = {("deepbench", "specs"): ("value",), ("cnn_benchmarks", "forward_backward"): ("cudnn",)}
"""Columns in which some labels look like numbers."""
SHAPE = r"^(?P<samples>\d+)x(?P<maps>\d+)x(?P<height>\d+)x(?P<width>\d+)$"


def open_names() -> tuple[str, ...]:
    """Names of the open data sets."""
    return tuple(OPEN_DATA)


def open_tables(name: str) -> tuple[OpenTable, ...]:
    """Tables of one data set.

    Raises
    ------
    UsageError
        No data set of that name.
    """
    if name not in OPEN_DATA:
        raise UsageError(f"got open data {name!r}, expected one of {', '.join(OPEN_DATA)}", hint=nearest_hint(name, OPEN_DATA))
    return OPEN_DATA[name]


def data_folder() -> Path | None:
    """The folder of the open data; None where nobody has said it."""
    folder = os.environ.get(VARIABLE)
    return Path(folder) if folder else None


def read_open(name: str, table: str, folder: Path | str | None = None) -> pd.DataFrame:
    """Read one table of the open data.

    Parameters
    ----------
    name : str
        Data set: ``"neusight"``; ``open_names`` lists them.
    table : str
        Table: ``"linear"``; ``open_tables`` lists them with the meaning of a row.
    folder : path, optional
        Folder that holds the data sets; by default the one that ``MLPERF_SHARED_DATA`` names.

    Returns
    -------
    DataFrame
        Rows in file order, none left out; times in seconds (``*_s``), project names where they apply (``subbatch_size``,
        ``maps_in``, ``maps_out``, ``filter_size``, ``cnn``, ``n_gpus``); missing cells are NaN.

    Raises
    ------
    UsageError
        No such data set or table.
    DataError
        The folder is not known, the file is missing or damaged, or a cell is of another kind than the rest of its column.
    """
    described = {one.name: one for one in open_tables(name)}
    if table not in described:
        raise UsageError(
            f"got table {table!r} of {name}, expected one of {', '.join(described)}", hint=nearest_hint(table, described)
        )
    labels = LABELS.get((name, table), ())
    frame = read_typed_table(open_file(name, table, folder), labels=labels).frame
    # Not `replace`: pandas 2 then warns of columns in which no cell is filled.
    empty = frame.map(lambda cell: np.nan if isinstance(cell, str) and not cell else cell)
    frame = in_seconds(empty).rename(columns=dict(described[table].renamed))
    addition = ADDITIONS.get((name, table))
    return frame if addition is None else addition(frame)


def open_file(name: str, table: str, folder: Path | str | None) -> Path:
    """Path of a table.

    Raises
    ------
    DataError
        The folder is not known or has no such file.
    """
    home = data_folder() if folder is None else Path(folder)
    if home is None:
        hint = f"Set {VARIABLE} to the folder that holds {name}/: the open data are read in place and not part of the package."
        raise DataError(f"is not set, expected the folder of the open data ({name}/{table})", place=VARIABLE, hint=hint)
    for suffix in SUFFIXES:
        path = home / name / f"{table}{suffix}"
        if path.is_file():
            return path
    hint = f"The folder should hold {', '.join(f'{one}/' for one in OPEN_DATA)}."
    raise DataError(f"got no {table}.csv or {table}.csv.gz", place=str(home / name), hint=hint)


def in_seconds(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns named ``*_ms``, ``*_us`` or ``*_ms_*`` as ``*_s`` or ``*_s_*``."""
    columns = {}
    for name, values in frame.items():
        found = TIME_COLUMN.fullmatch(str(name))
        if found is None:
            columns[str(name)] = values
        else:
            # A column without any value is one of text.
            columns[f"{found['stem']}_s{found['rest'] or ''}"] = pd.to_numeric(values) * TIME_UNITS[found["unit"]]
    return pd.DataFrame(columns)


def with_step(frame: pd.DataFrame) -> pd.DataFrame:
    """Add ``step_s``, the time of one step on all GPUs."""
    return frame.assign(step_s=frame["subbatch_size"] * frame["n_gpus"] / frame["images_per_s"])


def with_shapes(frame: pd.DataFrame) -> pd.DataFrame:
    """Add ``subbatch_size``, ``maps_in``, ``size_in``, ``maps_out``, ``size_out`` (widths) where a layer tells its shapes."""
    bottom = frame["bottom"].astype("str").str.extract(SHAPE).apply(pd.to_numeric)
    top = frame["top"].astype("str").str.extract(SHAPE).apply(pd.to_numeric)
    return frame.assign(
        subbatch_size=bottom["samples"],
        maps_in=bottom["maps"],
        size_in=bottom["width"],
        maps_out=top["maps"],
        size_out=top["width"],
    )


ADDITIONS: dict[tuple[str, str], Callable[[pd.DataFrame], pd.DataFrame]] = {
    ("deepbench", "gemm"): lambda frame: frame.assign(trans=frame["trans_a"] + frame["trans_b"]),
    ("deepbench", "allreduce"): lambda frame: frame.assign(size_bytes=FLOAT_BYTES * frame["n_floats"]),
    ("mxnet_perf", "scaling"): with_step,
    ("tf_benchmarks", "throughput"): with_step,
    ("convnet_benchmarks", "caffe_layer_geometry"): with_shapes,
}
