"""The data dictionary: every table of a campaign, every column with its unit, bounds and rules for zero and absent cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray
from mlperf.core.errors import UsageError
from mlperf.core.suggest import nearest_hint
from mlperf.datasets.dictionary.column import ALWAYS, ROW_ORDER, UNKNOWN, ZERO, ZERO_SECONDS, Cells, Column, RowRule, TableSchema
from mlperf.datasets.dictionary.trainer_schema import DETAILS, LEARNING
from mlperf.specs.kernels.kernels import FURTHER_KERNELS, GEMM_KERNELS, MEMORY_KERNELS
from mlperf.specs.network.layer import CELLS, LAYER_KINDS
from mlperf.systems.sprint.components import COMPONENT_NAMES, IMAGE_OPERATIONS, LOCK_WAITS, SHARE_OPERATIONS, VECTOR_OPERATIONS

PASSES = ("forward", "backward")
STEPPED = tuple(f"{cell}_{way}" for cell in CELLS for way in PASSES)
"""Library layers that go through their input place by place."""
LIBRARY_GEMMS = (
    *(f"{kind}_{way}" for kind in ("conv", "fc", "transposed_conv", "attention", "attend") for way in PASSES),
    *STEPPED,
)
LIBRARY_KERNELS = (*(f"{kind}_{way}" for kind in LAYER_KINDS if kind != "recurrent" for way in PASSES), *STEPPED)
PRODUCTS = (*GEMM_KERNELS, *LIBRARY_GEMMS)
KERNEL_NAMES = tuple(dict.fromkeys((*GEMM_KERNELS, *MEMORY_KERNELS, *FURTHER_KERNELS, *LIBRARY_KERNELS)))
MEMORY_OPERATIONS = (*VECTOR_OPERATIONS, *SHARE_OPERATIONS, *IMAGE_OPERATIONS)


def is_among(column: str, names: tuple[str, ...], cells: Cells) -> BoolArray:
    """Rows whose ``column`` holds one of ``names``."""
    return pd.Series(cells[column]).astype(str).isin(names).to_numpy(dtype=bool)


def does_no_work(cells: Cells) -> BoolArray:
    """Rows of a kernel that the layer does not need: neither products nor memory accesses."""
    products: Any = np.asarray(cells["m"]) * np.asarray(cells["n"]) * np.asarray(cells["k"])
    return np.asarray((products == 0) & (np.asarray(cells["access_bytes"]) == 0), dtype=bool)


A_PRODUCT = RowRule("a matrix product", lambda cells: is_among("kernel", PRODUCTS, cells), ("kernel",))
A_MEMORY_KERNEL = RowRule("a memory kernel", lambda cells: ~is_among("kernel", PRODUCTS, cells), ("kernel",))
AN_ABSENT_KERNEL = RowRule("an absent kernel", does_no_work, ("m", "n", "k", "access_bytes"))
AN_IMAGE_OPERATION = RowRule("an operation on images", lambda cells: is_among("operation", IMAGE_OPERATIONS, cells), ("operation",))
A_VECTOR_OPERATION = RowRule(
    "an operation on parameters", lambda cells: ~is_among("operation", IMAGE_OPERATIONS, cells), ("operation",)
)
ONE_NODE = RowRule("one node", lambda cells: np.asarray(np.asarray(cells["n_nodes"]) == 1), ("n_nodes",))

CPU = Column(
    "cpu_s", "number", "s", "CPU time of the measuring thread; on a device its busy time, without the gaps between launches"
)
WALL = Column("wall_s", "number", "s", "elapsed time; on a device the time in the stream, launch gaps included", default=UNKNOWN)
KERNEL_CPU = Column("cpu_s", "number", "s", CPU.doc, zero_when=AN_ABSENT_KERNEL)
KERNEL_WALL = Column("wall_s", "number", "s", WALL.doc, zero_when=AN_ABSENT_KERNEL, default=UNKNOWN)
SAMPLE = (
    Column(
        "round",
        "integer",
        "",
        "number of the round; in each round every configuration is visited once, in a new random order",
        zero_when=ALWAYS,
        default=ZERO,
    ),
    Column(
        "sequence",
        "integer",
        "",
        "position in the whole campaign, in the order of measuring",
        zero_when=ALWAYS,
        default=ROW_ORDER,
    ),
    Column(
        "load",
        "number",
        "",
        "load average of the machine beside the sample (0: idle or not logged)",
        zero_when=ALWAYS,
        default=UNKNOWN,
    ),
    Column(
        "reference_s",
        "number",
        "s",
        "time of the reference kernel beside the sample (0: none was timed)",
        zero_when=ALWAYS,
        default=ZERO_SECONDS,
    ),
)
BACKEND = Column("backend", "text", "", "what executed the work: numpy, torch, cuda, ...")
CNN = Column("cnn", "text", "", "name of a network; its specification is cnns/<name>.toml")
SUBBATCH = Column("subbatch_size", "integer", "samples", "samples per GPU iteration (N_Subbatch)", lower=1)
N_PARAMS = Column("n_params", "integer", "parameters", "length of the weight vector (N_Param)", lower=1)
TRANSPOSED = ("NN", "TN", "NT")

SGEMM = TableSchema(
    "sgemm",
    "isolated, cache-hot single-precision products C(m,n) = A(m,k) B(k,n)",
    (
        Column("trans", "text", "", "whether A, B are transposed (row-major): NN, TN or NT", choices=TRANSPOSED),
        Column("m", "integer", "", "rows of C", lower=1),
        Column("n", "integer", "", "columns of C", lower=1),
        Column("k", "integer", "", "length of the inner products", lower=1),
        Column(
            "purpose", "text", "", "grid: node of the local model; validation: between the nodes", choices=("grid", "validation")
        ),
        CPU,
        WALL,
        *SAMPLE,
    ),
    key=("trans", "m", "n", "k", "purpose"),
    examples=(("NN", "1024", "64", "576", "grid", "0.00153", "0.00155", "1", "1", "0.4", "0.0021"),),
)

KERNELS = TableSchema(
    "kernels",
    "one call of one kernel inside a training step",
    (
        BACKEND,
        CNN,
        SUBBATCH,
        Column(
            "kernel",
            "text",
            "",
            "name of the kernel, or <layer kind>_forward and _backward of a library layer; of a recurrent one its cell",
            choices=KERNEL_NAMES,
        ),
        Column(
            "layer",
            "text",
            "",
            "layer whose weights, window or function the kernel works with; also for dedx-* and col2im, not the layer below",
        ),
        Column(
            "m",
            "integer",
            "",
            "rows of the product (0: a memory kernel)",
            zero_when=ALWAYS,
            absent_when=A_MEMORY_KERNEL,
            absent_text="0",
        ),
        Column(
            "n",
            "integer",
            "",
            "columns of the product (0: a memory kernel)",
            zero_when=ALWAYS,
            absent_when=A_MEMORY_KERNEL,
            absent_text="0",
        ),
        Column(
            "k",
            "integer",
            "",
            "inner length of the product (0: a memory kernel)",
            zero_when=ALWAYS,
            absent_when=A_MEMORY_KERNEL,
            absent_text="0",
        ),
        Column("trans", "text", "", "NN, TN or NT; empty for a memory kernel", absent_when=A_MEMORY_KERNEL, choices=TRANSPOSED),
        Column(
            "access_bytes",
            "integer",
            "bytes",
            "bytes a memory kernel moves, 4 x access order x sub-batch; empty for a product",
            zero_when=ALWAYS,
            absent_when=A_PRODUCT,
        ),
        KERNEL_CPU,
        KERNEL_WALL,
        *SAMPLE,
    ),
    key=("backend", "cnn", "subbatch_size", "kernel", "layer"),
    groups="cnn",
    examples=(
        ("numpy", "example", "4", "im2col", "conv1", "0", "0", "0", "", "338688", "0.00118", "0.00119", "1", "1", "0.4", "0.0021"),
        (
            *("numpy", "example", "4", "convolution", "conv1", "3136", "32", "27", "NN", ""),
            *("0.00041", "0.00042", "1", "2", "0.4", "0.0021"),
        ),
    ),
)

STEPS = TableSchema(
    "steps",
    "one whole forward and backward step, timers inside it off",
    (
        BACKEND,
        CNN,
        SUBBATCH,
        Column(
            "step_s", "number", "s", "time of the step by the clock of the campaign: what the sum of the kernels is compared with"
        ),
        CPU,
        WALL,
        *SAMPLE,
    ),
    key=("backend", "cnn", "subbatch_size"),
    groups="cnn",
    examples=(("numpy", "example", "4", "0.0214", "0.0214", "0.0217", "1", "3", "0.4", "0.0021"),),
)

UPDATES = TableSchema(
    "updates",
    "one memory operation of Algorithms 1 and 2: vector operations over parameters, loading and deforming of images",
    (
        Column("operation", "text", "", "name of the component", choices=MEMORY_OPERATIONS),
        Column(
            "n_params",
            "integer",
            "parameters",
            "length of the vector (0: an operation on images)",
            1,
            absent_when=AN_IMAGE_OPERATION,
            absent_text="0",
        ),
        Column(
            "subbatch_size",
            "integer",
            "samples",
            "images at once (0: an operation on parameters)",
            1,
            absent_when=A_VECTOR_OPERATION,
            absent_text="0",
        ),
        Column(
            "input_size",
            "integer",
            "",
            "values of one image, x_0^2 m_0 (0: on parameters)",
            1,
            absent_when=A_VECTOR_OPERATION,
            absent_text="0",
        ),
        CPU,
        WALL,
        *SAMPLE,
    ),
    key=("operation", "n_params", "subbatch_size", "input_size"),
    examples=(
        ("update_gradient", "1000000", "0", "0", "0.00044", "0.00045", "1", "4", "0.4", "0.0021"),
        ("load_image", "0", "4", "12288", "0.00031", "0.00033", "1", "5", "0.4", "0.0021"),
    ),
)

RUN_KEYS = (
    Column("run", "integer", "", "number of the run; repeats of a setting differ in it", zero_when=ALWAYS),
    Column("mode", "text", "", "what was real and what was emulated by waiting"),
    CNN,
    Column("n_nodes", "integer", "nodes", "nodes (N_Node)", lower=1),
    Column("n_gpus_per_node", "integer", "GPUs", "GPUs, or worker threads, of one node (N_GPU)", lower=1),
    SUBBATCH,
    N_PARAMS,
)
SETTING = tuple(column.name for column in RUN_KEYS[1:])
COMPONENT_DOCS = {
    **dict.fromkeys(LOCK_WAITS, "mean wait for the lock; zero is right"),
    "fetch_weights": "one copy of the latest weights, over the iterations that copied",
    "sum_gradient": "adding one gradient buffer, over the buffers really added",
    "allreduce": "the all-reduce with its barrier; zero is right on one node",
}
ZERO_COMPONENTS = {**dict.fromkeys(LOCK_WAITS, ALWAYS), "allreduce": ONE_NODE}

COMPONENTS = TableSchema(
    "components",
    "the sixteen components of Algorithms 1 and 2 in one asynchronous run, means over its threads and iterations",
    (
        *RUN_KEYS,
        *(
            Column(
                f"{name}_s",
                "number",
                "s",
                COMPONENT_DOCS.get(name, "mean time of one iteration"),
                zero_when=ZERO_COMPONENTS.get(name),
            )
            for name in COMPONENT_NAMES
        ),
        Column(
            "fetch_probability", "number", "", "share of GPU iterations that found new weights (q)", upper=1.0, zero_when=ALWAYS
        ),
        Column(
            "ready_probability",
            "number",
            "",
            "share of inspected buffers that held a new gradient (p)",
            upper=1.0,
            zero_when=ALWAYS,
        ),
    ),
    key=SETTING,
    groups="cnn",
    examples=(("1", "emulated", "example", "2", "4", "4", "1000000", *["0.0012"] * 16, "0.8", "1.0"),),
)

RUNS = TableSchema(
    "runs",
    "one asynchronous run as a whole",
    (
        *RUN_KEYS,
        Column("gpu_iteration_s", "number", "s", "mean iteration of a GPU thread (T_GPU)"),
        Column("update_iteration_s", "number", "s", "mean iteration of an update thread (T_Update)"),
        Column("mean_minibatch_size", "number", "samples", "samples per update (N_Minibatch)"),
        Column("epoch_s", "number", "s", "time of one pass over the data set (T_Epoch)"),
        Column("staleness", "number", "updates", "mean number of updates between fetch and use of the weights", zero_when=ALWAYS),
    ),
    key=SETTING,
    groups="cnn",
    examples=(("1", "emulated", "example", "2", "4", "4", "1000000", "0.4927", "0.2739", "26.7", "1580.0", "2.6"),),
)

TABLES: dict[str, TableSchema] = {
    table.name: table for table in (SGEMM, KERNELS, STEPS, UPDATES, COMPONENTS, RUNS, DETAILS, LEARNING)
}


def table_schema(name: str) -> TableSchema:
    """The schema of a table by its name.

    Raises
    ------
    UsageError
        No table of that name; the hint lists or suggests one.
    """
    if name not in TABLES:
        raise UsageError(f"got table {name!r}, expected one of {', '.join(TABLES)}", hint=nearest_hint(name, TABLES))
    return TABLES[name]
