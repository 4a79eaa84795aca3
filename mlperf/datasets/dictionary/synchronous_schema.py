"""The data dictionary of synchronous data-parallel training: runs, isolated exchanges, and the steps behind the runs."""

from __future__ import annotations

from mlperf.datasets.dictionary.column import ALWAYS, Column, TableSchema

PARTS = ("input", "forward", "backward", "exchange", "straggler", "optimizer")
"""Parts of a step, in order; their seconds add up to the step's."""
MEANINGS = {
    "input": "reading the samples of a sub-batch into the network's input",
    "forward": "forward pass and loss",
    "backward": "backward pass",
    "exchange": "the all-reduce, from the arrival of the last process to its mean end (0: one process)",
    "straggler": "mean wait of the processes for the one that arrived last (0: one process)",
    "optimizer": "packing the gradient, momentum and new weights",
}
SPREAD = "half the mean difference of two of them, in standard deviations of a normal one that have as much"
SYNCHRONOUS = (
    Column("mode", "text", "", "real, or what was emulated by waiting"),
    Column("engine", "text", "", "what computes and exchanges", choices=("numpy+mpi", "torch+gloo")),
)
COUNTS = (
    Column("n_nodes", "integer", "nodes", "machines of the run", lower=1),
    Column("n_gpus_per_node", "integer", "", "processes on each machine, each with a replica of the network", lower=1),
)

DDP_RUNS = TableSchema(
    "runs",
    "one run of synchronous data-parallel training: means over its steps",
    (
        *SYNCHRONOUS,
        Column("cnn", "text", "", "network"),
        *COUNTS,
        Column("subbatch_size", "integer", "samples", "samples of one process in a step", lower=1),
        Column("overlap", "number", "", "1: gradients are exchanged during the backward pass; 0: after it", zero_when=ALWAYS),
        Column("input_overlap", "number", "", "1: loading runs beside the step; 0: it is part of it", zero_when=ALWAYS),
        Column("n_params", "integer", "", "values of the gradient", lower=1),
        Column("size_bytes", "integer", "bytes", "bytes that are exchanged in a step", lower=1),
        Column("dataset_size", "integer", "samples", "samples of an epoch", lower=1),
        Column("repeat", "integer", "", "number of the repeat of this configuration", lower=1),
        Column("n_steps", "integer", "", "steps that the means are over", lower=1),
        Column("step_s", "number", "s", "mean step"),
        Column("step_std_s", "number", "s", "spread of one process's own work in a step: " + SPREAD, zero_when=ALWAYS),
        *(Column(f"{part}_s", "number", "s", f"mean of {MEANINGS[part]}", zero_when=ALWAYS) for part in PARTS),
        *(
            Column(f"{part}_std_s", "number", "s", f"standard deviation of {part}_s over the steps", zero_when=ALWAYS)
            for part in PARTS
        ),
        Column("overshoot_s", "number", "s", "median error of a wait (0: nothing was waited for)", zero_when=ALWAYS),
        Column("loss", "number", "", "mean loss of the last step (0: gradients were waited for)", zero_when=ALWAYS),
        Column("load", "number", "", "load average of the machine before the run", zero_when=ALWAYS),
    ),
    key=("mode", "engine", "cnn", "n_nodes", "n_gpus_per_node", "subbatch_size"),
    groups="cnn",
    examples=(
        (
            *("real", "numpy+mpi", "digits", "1", "2", "16", "0", "0", "38186", "152744", "1437", "1", "300"),
            *("0.0042", "0.0003", "2.1e-05", "0.0013", "0.0024", "0.0002", "0.0001", "0.00012"),
            *("2e-06", "0.0001", "0.0002", "5e-05", "0.0001", "1e-05", "0", "0.31", "0.8"),
        ),
    ),
)

DDP_EXCHANGE = TableSchema(
    "exchange",
    "isolated all-reduce of one vector: one row is the median over its repetitions",
    (
        Column("engine", "text", "", "what exchanges", choices=("numpy+mpi", "torch+gloo")),
        *COUNTS,
        Column("size_bytes", "integer", "bytes", "bytes of the vector", lower=1),
        Column("repeat", "integer", "", "number of the repeat", lower=1),
        Column("n_exchanges", "integer", "", "repetitions that the median is over", lower=1),
        Column("exchange_s", "number", "s", "median time from the arrival of the last process to the mean end"),
        Column("exchange_std_s", "number", "s", "standard deviation over the repetitions", zero_when=ALWAYS),
    ),
    key=("engine", "n_nodes", "n_gpus_per_node", "size_bytes"),
    examples=(("numpy+mpi", "1", "2", "1048576", "1", "50", "0.00043", "3e-05"),),
)

SYNCHRONOUS_TABLES: dict[str, TableSchema] = {"ddp_runs": DDP_RUNS, "ddp_exchange": DDP_EXCHANGE}
OWN_TABLES: dict[str, TableSchema] = {table.name: table for table in (DDP_RUNS, DDP_EXCHANGE)}
"""By the name of the file in the folder of the runs."""
