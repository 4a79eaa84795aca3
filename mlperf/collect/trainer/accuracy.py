"""Loss and accuracy at the end of each epoch, found out after the run: the trainer's threads are not disturbed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.collect.cnn_engine.builder import Array
from mlperf.collect.cnn_engine.engine import training_step
from mlperf.collect.trainer.job import Job
from mlperf.collect.trainer.records import Records
from mlperf.collect.trainer.replica import step_replica
from mlperf.collect.trainer.samples import Samples
from mlperf.specs.network.layer import NETWORK_INPUT

TEST_BATCH = 128


def epoch_table(job: Job, records: Records, samples: Samples, weights: Path) -> pd.DataFrame:
    """One row an epoch, and a last one for the end of the run.

    Returns
    -------
    DataFrame
        ``epoch``, ``n_updates``, ``n_samples``, ``elapsed_s``, ``loss`` (mean over the epoch's gradients, as computed),
        ``test_accuracy``, ``mean_minibatch_size``, ``staleness``.
    """
    updates = records.updates[records.updates["node"] == 0].set_index("update")
    uses, measure = records.uses, accuracy_of(job, samples)
    with np.load(weights) as stored:
        ends, states = stored["updates"].tolist(), [*stored["epochs"]]
        # Updates without a gradient still move the weights: they belong to the epoch before them.
        if ends and not (uses["update"] >= ends[-1]).any():
            ends, states = ends[:-1], states[:-1]
        ends, states = [*ends, len(updates)], [*states, stored["final"]]
    rows, first = [], 0
    for end, state in zip(ends, states, strict=True):
        used = uses[(uses["update"] >= first) & (uses["update"] < end)]
        n_samples = int(updates["n_gradients"].iloc[:end].sum()) * job.subbatch_size
        rows.append(
            {
                "epoch": n_samples / job.dataset_size,
                "n_updates": end,
                "n_samples": n_samples,
                "elapsed_s": float(updates["start_s"].iloc[end - 1] - updates["start_s"].iloc[0]),
                "loss": float(used["loss"].mean()),
                "test_accuracy": measure(state),
                "mean_minibatch_size": float(updates["n_gradients"].iloc[first:end].mean()) * job.subbatch_size,
                "staleness": float(used["staleness"].mean()),
            }
        )
        first = end
    return pd.DataFrame(rows)


def accuracy_of(job: Job, samples: Samples) -> Callable[[Array], float]:
    """A function from weights, shape (n_params,), to the share of test images that they classify rightly."""
    batch = min(TEST_BATCH, len(samples.test_labels))
    step = training_step(job.network, batch, seed=job.seed)
    replica = step_replica(step)
    forward = step.operations[: [operation.kernel for operation in step.operations].index("softmax")]
    logits = step.values[step.cnn.layers[-1].name].reshape(batch, -1)

    def accuracy(weights: Array) -> float:
        replica.fetch(weights)
        n_right = 0
        for start in range(0, len(samples.test_labels), batch):
            images, labels = samples.test_images[start : start + batch], samples.test_labels[start : start + batch]
            step.values[NETWORK_INPUT][: len(images)] = images * np.float32(samples.factor)
            for operation in forward:
                operation.run()
            n_right += int((logits[: len(labels)].argmax(axis=1) == labels).sum())
        return n_right / len(samples.test_labels)

    return accuracy
