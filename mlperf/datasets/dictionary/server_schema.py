"""Tables of canonical benchmarks, of the network between two machines, and of runs of the parameter-server trainer."""

from __future__ import annotations

from mlperf.datasets.dictionary.column import ALWAYS, UNKNOWN_WORD, UNTOLD, Column, TableSchema
from mlperf.datasets.dictionary.schema import SAMPLE

PASSES = ("forward", "backward", "product", "update", "error", "add")
SEGMENT_KINDS = ("fc", "conv", "pool", "server")
TRANSPORTS = ("loopback", "network", "datasheet")

CANONICAL = TableSchema(
    "canonical",
    "innermost loops of one segment of one layer, alone on a core: one row is the mean of one block of calls",
    (
        Column("code", "text", "", "what runs the loops: blas (one sample at a time), or scalar", choices=("blas", "scalar")),
        Column("kind", "text", "", "kind of layer, or server: the addition of a received shard", choices=SEGMENT_KINDS),
        Column(
            "pass", "text", "", "which of the loops; backward: product and error terms; add: w += g of a server", choices=PASSES
        ),
        Column("n_connections", "integer", "", "multiply-adds of a sample; of a server the values added", zero_when=ALWAYS),
        Column("n_neurons", "integer", "", "values of f or f' of a sample", zero_when=ALWAYS),
        Column("working_set_bytes", "number", "bytes", "parameters and activations of the segment"),
        Column("n_threads", "integer", "", "processes that run the same loops at the same time, each on its own core", lower=1),
        Column("minibatch_size", "integer", "samples", "samples of one call", lower=1),
        Column("time_s", "number", "s", "CPU time of one call"),
        *SAMPLE,
    ),
    key=("code", "kind", "pass", "n_connections", "n_neurons", "n_threads"),
    examples=(("blas", "fc", "forward", "262144", "512", "1.05e+06", "1", "1", "2.1e-05", "1", "1", "0.4", "0.0021"),),
)

NETWORK = TableSchema(
    "network",
    "half a round trip of one message between two processes",
    (
        Column("transport", "text", "", "network, loopback (both on one machine) or datasheet", choices=TRANSPORTS),
        Column("size_bytes", "integer", "bytes", "length of the message", lower=1),
        Column("n_pairs", "integer", "", "pairs that exchange messages at the same time", lower=1),
        Column("time_s", "number", "s", "half of a round trip, elapsed; the slowest pair"),
        *SAMPLE,
    ),
    key=("transport", "size_bytes", "n_pairs"),
    examples=(("loopback", "1024", "1", "1.1e-06", "1", "1", "0.4", "0"),),
)

PS_RUNS = TableSchema(
    "ps_runs",
    "one run of the parameter-server trainer: one configuration, one repeat",
    (
        Column("run", "integer", "", "number of the run", lower=1),
        Column("mode", "text", "", "real, or what was emulated by waiting and how much slower"),
        Column("cnn", "text", "", "network"),
        Column("n_replicas", "integer", "", "model replicas (A)", lower=1),
        Column("n_servers", "integer", "", "parameter servers (S)", zero_when=ALWAYS),
        Column("n_workers", "integer", "", "workers of a replica (n)", lower=1),
        Column("plan", "text", "", "stripes x copies x threads of every layer, layers separated by /"),
        Column("exchange", "text", "", "when replicas exchange weights", choices=("asynchronous", "synchronous")),
        Column("minibatch_size", "integer", "samples", "samples of a replica between two exchanges (B)", lower=1),
        Column("repeat", "integer", "", "number of the repeat of this configuration", lower=1),
        Column("epoch_s", "number", "s", "time of one pass over the data set at the run's rate"),
        Column("samples_per_s", "number", "", "samples of all replicas per second"),
        Column("period_s", "number", "s", "mean time between two mini-batches of a replica"),
        Column("staleness", "number", "updates", "mean number of updates between pull and use of the weights", zero_when=ALWAYS),
        Column("test_accuracy", "number", "", "share of test samples told rightly at the end", upper=1.0, zero_when=ALWAYS),
        Column("accuracy_epochs", "number", "", "passes over the data set behind that accuracy", zero_when=ALWAYS),
        Column("n_updates", "integer", "updates", "mini-batches of all replicas", lower=1),
        Column("n_pushed", "integer", "", "messages with gradients that workers sent to servers", zero_when=ALWAYS),
        Column("n_applied", "integer", "", "messages with gradients that servers applied", zero_when=ALWAYS),
        Column("overshoot_share", "number", "", "usual error of a wait over the mean wait (0: none)", zero_when=ALWAYS),
        Column("cores_per_rank", "number", "", "cores of the machine for each process"),
        Column("load", "number", "", "load average of the machine before the run", zero_when=ALWAYS),
        Column(
            "code", "text", "", "what ran the loops, as in canonical.csv", choices=("blas", "scalar", UNKNOWN_WORD), default=UNTOLD
        ),
        Column("version", "text", "", "version of mlperf that made the run", default=UNTOLD),
    ),
    key=("mode", "cnn", "n_replicas", "n_servers", "n_workers", "plan", "exchange", "minibatch_size", "code"),
    groups="cnn",
)

SEGMENTS = TableSchema(
    "segments",
    "loops of the segments that the trainer's runs wait for: one row is the mean of one block of calls of the trainer's own code",
    (
        Column("cnn", "text", "", "network"),
        Column("layer", "text", "", "layer of the network"),
        Column("n_stripes", "integer", "", "stripes that the layer is cut into; the largest is measured", lower=1),
        Column("pass", "text", "", "which of the loops", choices=PASSES),
        Column("n_threads", "integer", "", "processes that run them at the same time, each on its own core", lower=1),
        Column("time_s", "number", "s", "CPU time of one call"),
        *SAMPLE,
    ),
    key=("cnn", "layer", "n_stripes", "pass", "n_threads"),
)

SERVER_TABLES: dict[str, TableSchema] = {table.name: table for table in (CANONICAL, NETWORK, PS_RUNS, SEGMENTS)}
