"""The data dictionary of a campaign of tensor contractions: times, the rounds behind them, simulated caches."""

from __future__ import annotations

import numpy as np

from mlperf.datasets.dictionary.column import ALWAYS, Column, RowRule, TableSchema
from mlperf.datasets.dictionary.schema import SAMPLE

ONE_ROUND = RowRule("a single round", lambda cells: np.asarray(np.asarray(cells["n_rounds"]) == 1), ("n_rounds",))

SETTING = (
    Column("build", "text", "", "name of the compiler with its options"),
    Column("N", "integer", "", "extent of every dimension and loop", lower=1),
    Column("offset_bytes", "integer", "bytes", "distance of each array from a 64-byte boundary", zero_when=ALWAYS),
    Column("pattern", "text", "", "ij-jlk-kil is A[i][j] += B[j][l][k] * C[k][i][l]"),
)
KEY = tuple(column.name for column in SETTING)

TIMES = TableSchema(
    "times",
    "one contraction kernel of one build at one size, over all rounds",
    (
        Column("machine", "text", "", "processor that ran it"),
        Column("pattern_set", "text", "", "rule of the family of patterns"),
        Column("compiler_flags", "text", "", "compiler with its version, and options"),
        *SETTING,
        Column("kernel", "text", "", "name of the compiled function: k_ij_jlk_kil"),
        Column("swap_group", "text", "", "the pattern with operands in order: twins are one program and stay in one fold"),
        Column(
            "n_operations",
            "integer",
            "",
            "executions of the innermost statement, the paper's operations: N to the number of loops",
            lower=1,
        ),
        Column("n_rounds", "integer", "", "rounds behind the times", lower=1),
        Column("time_mean_s", "number", "s", "mean over rounds of the thread CPU time of one call"),
        Column("time_median_s", "number", "s", "their median"),
        Column("time_min_s", "number", "s", "the least of them"),
        Column("time_sd_s", "number", "s", "their standard deviation", zero_when=ALWAYS),
        Column("time_odd_s", "number", "s", "mean over odd rounds: one half for the noise ceiling"),
        Column("time_even_s", "number", "s", "mean over even rounds: the other half (0: a single round)", zero_when=ONE_ROUND),
        Column("wall_mean_s", "number", "s", "mean elapsed time of one call"),
        Column(
            "cycles_mean", "number", "", "clock cycles of one call; host.json, clock says whence (0: unknown)", zero_when=ALWAYS
        ),
        Column("operations_per_cycle", "number", "", "n_operations / cycles_mean (0: unknown)", zero_when=ALWAYS),
        Column("check_error", "number", "", "largest relative deviation of the checksum from einsum", upper=1.0, zero_when=ALWAYS),
    ),
    key=KEY,
    groups="swap_group",
)

ROUNDS = TableSchema(
    "rounds",
    "one visit of one contraction kernel",
    (
        *SETTING,
        Column("cpu_s", "number", "s", "thread CPU time of one call"),
        Column("wall_s", "number", "s", "elapsed time of one call"),
        Column("n_runs", "integer", "", "calls that were timed together", lower=1),
        Column("cycles", "integer", "", "clock cycles of one call in user mode, by hardware counter (0: none)", zero_when=ALWAYS),
        Column("check_error", "number", "", "relative deviation of the checksum from einsum", upper=1.0, zero_when=ALWAYS),
        *SAMPLE,
    ),
    key=KEY,
    groups="pattern",
)

COUNTS = (
    ("Ir", "instructions"),
    ("I1mr", "first-level instruction-cache misses"),
    ("ILmr", "last-level instruction-cache misses"),
    ("Dr", "data reads"),
    ("D1mr", "read misses of the first level"),
    ("DLmr", "read misses of the last level"),
    ("Dw", "data writes"),
    ("D1mw", "write misses of the first level"),
    ("DLmw", "write misses of the last level"),
    ("Bc", "conditional branches"),
    ("Bcm", "mispredicted ones"),
    ("Bi", "indirect branches"),
    ("Bim", "mispredicted ones"),
)

CACHEGRIND = TableSchema(
    "cachegrind",
    "one contraction kernel under cachegrind: simulated counts of one call",
    (
        *SETTING,
        *(
            Column(f"{level}_{part}", "integer", unit, f"simulated {words}: {meaning}", lower=1)
            for level, words in (("l1", "first level"), ("l2", "last level"))
            for part, unit, meaning in (("bytes", "bytes", "capacity"), ("ways", "", "associativity"))
        ),
        Column("line_bytes", "integer", "bytes", "cache line", lower=1),
        *(Column(f"cg_{event}", "integer", "", f"{meaning} of one call", zero_when=ALWAYS) for event, meaning in COUNTS),
    ),
    key=(*KEY, "l1_bytes", "l1_ways", "l2_bytes", "l2_ways", "line_bytes"),
    groups="pattern",
)

CONTRACTION_TABLES: dict[str, TableSchema] = {table.name: table for table in (TIMES, ROUNDS, CACHEGRIND)}
