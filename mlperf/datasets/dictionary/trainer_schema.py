"""The data dictionary of what the asynchronous trainer writes beside its runs: details, histograms, epochs."""

from __future__ import annotations

import numpy as np

from mlperf.datasets.dictionary.column import ALWAYS, Column, RowRule, TableSchema

FOLDER = "asgd"
"""Folder of these tables inside a campaign."""
OLD_WEIGHTS = "weights older by"
"""Stands in the mode of runs whose workers read old weights on purpose: their times are of nothing that is predicted."""
SIZE = "mean_minibatch_size"
NO_GRADIENT = RowRule("an end without a gradient", lambda cells: np.asarray(np.asarray(cells[SIZE]) == 0), (SIZE,))

RUN = (
    Column("run", "integer", "", "number of the run, as in runs.csv", zero_when=ALWAYS),
    Column("mode", "text", "", "what was real and what was emulated by waiting"),
)
SPREADS = (
    ("gpu_work_std_s", "a worker's loading, deforming, gradient and update value together"),
    ("fetch_weights_std_s", "one copy of the latest weights"),
    ("update_gradient_std_s", "one addition to a gradient buffer"),
    ("sum_gradient_std_s", "the sum of one gradient buffer"),
    ("update_work_std_s", "the update thread's old weights and both passes over the momentum together"),
    ("update_weights_std_s", "one write of the new weights"),
)

DETAILS = TableSchema(
    "details",
    "what explains one asynchronous run beside its components: spreads, the barrier, gradients, exactness of waits",
    (
        *RUN,
        Column("seed", "integer", "", "seed of the run's random numbers", zero_when=ALWAYS),
        Column("learning_rate", "number", "", "step of the update", zero_when=ALWAYS),
        Column("momentum", "number", "", "share of the last update that is kept", zero_when=ALWAYS),
        Column("cores_per_worker", "number", "", "processor cores of the machine for each worker thread"),
        *(
            Column(name, "number", "s", f"standard deviation of {words} (0: a single one)", zero_when=ALWAYS)
            for name, words in SPREADS
        ),
        Column("barrier_wait_s", "number", "s", "mean wait for the other nodes in the all-reduce", zero_when=ALWAYS),
        Column("allreduce_payload_s", "number", "s", "mean time of the all-reduce after that wait", zero_when=ALWAYS),
        Column("minibatch_std", "number", "samples", "standard deviation of the samples per update", zero_when=ALWAYS),
        Column("staleness_std", "number", "updates", "standard deviation of the staleness (0: one gradient)", zero_when=ALWAYS),
        Column("minibatch_ratio", "number", "", "mean mini-batch over what no lost gradient would give", zero_when=ALWAYS),
        Column("n_updates", "integer", "updates", "updates of the run", lower=1),
        Column("n_updates_counted", "integer", "updates", "updates that the means are over", lower=1),
        Column("n_computed", "integer", "", "gradients computed", zero_when=ALWAYS),
        Column("n_used", "integer", "", "gradients that some update used", zero_when=ALWAYS),
        Column("n_left", "integer", "", "gradients left in buffers at the end", zero_when=ALWAYS),
        Column("overshoot_s", "number", "s", "median error of a wait (0: nothing was waited for)", zero_when=ALWAYS),
        Column("overshoot_mean_s", "number", "s", "mean error of a wait (0: nothing was waited for)", zero_when=ALWAYS),
        Column("shortest_wait_s", "number", "s", "shortest mean wait (0: nothing was waited for)", zero_when=ALWAYS),
        Column("overshoot_share", "number", "", "overshoot_s over shortest_wait_s; above 0.05 it emulates badly", zero_when=ALWAYS),
        Column("overshoot_mean_share", "number", "", "overshoot_mean_s over shortest_wait_s", zero_when=ALWAYS),
        Column("load", "number", "", "load average of the machine before the run", zero_when=ALWAYS),
    ),
    key=("run",),
    examples=(
        (
            *("1", "emulated", "1", "0.0003", "0.9", "0.5", "0.0039", "0.0014", "0.0015", "0.0017", "0.0011", "0.0027"),
            *("0.0052", "0.0524", "4.5", "0.48", "1.0", "300", "269", "2778", "2762", "16"),
            *("3.6e-06", "2.4e-05", "0.00016", "0.022", "0.15", "1.26"),
        ),
    ),
    folder=FOLDER,
)

HISTOGRAMS = TableSchema(
    "histograms",
    "how often one value occurred in one asynchronous run",
    (
        *RUN,
        Column("quantity", "text", "", "what was counted", choices=("minibatch_size", "staleness", "buffers_added")),
        Column("value", "integer", "", "samples, updates or buffers", zero_when=ALWAYS),
        Column("count", "integer", "", "updates, or gradients for the staleness, with this value", lower=1),
    ),
    key=("run", "quantity", "value"),
    folder=FOLDER,
)

LEARNING = TableSchema(
    "learning",
    "one run of asynchronous SGD without a clock: real gradients in a drawn order, no times",
    (
        *RUN,
        Column("data", "text", "", "data set that was learnt"),
        Column("cnn", "text", "", "network"),
        Column("n_nodes", "integer", "nodes", "parts that the data set was dealt to", lower=1),
        Column("n_gpus_per_node", "integer", "", "workers of a node", lower=1),
        Column("subbatch_size", "integer", "samples", "samples of a gradient", lower=1),
        Column("seed", "integer", "", "seed of the run's random numbers", zero_when=ALWAYS),
        Column("learning_rate", "number", "", "step of the update"),
        Column("momentum", "number", "", "share of the last update that is kept", zero_when=ALWAYS),
        Column("iteration", "number", "updates", "mean length of a worker's iteration"),
        Column("variation", "number", "", "standard deviation of that length over its mean", zero_when=ALWAYS),
        Column("delay", "integer", "updates", "age of the weights that workers read", zero_when=ALWAYS),
        Column("most_epochs", "integer", "epochs", "passes over the data set after which the run was ended", lower=1),
        Column(SIZE, "number", "samples", "samples per update"),
        Column("staleness", "number", "updates", "mean staleness", zero_when=ALWAYS),
    ),
    key=("data", "cnn", "n_nodes", "n_gpus_per_node", "subbatch_size", "iteration", "delay"),
    examples=(
        (
            *("1", "simulated without clock", "digits", "digits", "2", "4", "8", "7", "0.0003", "0.9"),
            *("2.0", "0.2", "4", "60", "32.1", "6.98"),
        ),
    ),
    folder=FOLDER,
)

EPOCHS = TableSchema(
    "epochs",
    "the end of one epoch of one run with real gradients",
    (
        *RUN,
        Column("epoch", "number", "epochs", "passes over the data set so far", zero_when=ALWAYS),
        Column("n_updates", "integer", "updates", "updates so far", zero_when=ALWAYS),
        Column("n_samples", "integer", "samples", "samples so far", zero_when=ALWAYS),
        Column("elapsed_s", "number", "s", "time since the first update (0: a run without a clock)", zero_when=ALWAYS),
        Column("loss", "number", "", "mean loss of the epoch's gradients", zero_when=ALWAYS, absent_when=NO_GRADIENT),
        Column("test_accuracy", "number", "", "share of the test samples classified rightly", upper=1.0, zero_when=ALWAYS),
        Column(SIZE, "number", "samples", "samples per update in the epoch", zero_when=ALWAYS),
        Column("staleness", "number", "updates", "mean staleness in the epoch", zero_when=ALWAYS, absent_when=NO_GRADIENT),
    ),
    key=("run", "epoch"),
    folder=FOLDER,
)

TRAINER_TABLES: dict[str, TableSchema] = {table.name: table for table in (DETAILS, HISTOGRAMS, LEARNING, EPOCHS)}
